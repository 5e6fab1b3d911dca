#!/usr/bin/env bash
# Time LFR and Algorithm 1 as a plain PyTorch loop on two CPU cores, one after the other.
# Usage: benchmarks/measure_cpu.sh [RECIPE …], by default income and har.
# Appends to benchmarks/results/speed.jsonl and takes about eight minutes. Run nothing else meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-.venv/bin/python}"
export OMP_NUM_THREADS=2
for recipe in ${*:-income har}; do
  for kind in "" --reference; do
    "$python" -m aleator.benchmark.speed "$recipe" --device cpu --epochs 3 $kind |
      tee -a benchmarks/results/speed.jsonl
  done
done
