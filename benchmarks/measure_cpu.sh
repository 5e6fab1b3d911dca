#!/usr/bin/env bash
# Time the engine against Algorithm 1 written out literally, on two CPU cores, one after the other.
# Usage: benchmarks/measure_cpu.sh [RECIPE …], by default income and har.
# Appends to benchmarks/results/speed.jsonl; takes about eight minutes. Leave the machine alone.
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
