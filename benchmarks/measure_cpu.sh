#!/usr/bin/env bash
# Time LFR on two CPU cores: its defaults, and the paper's recipes beside Algorithm 1 as a plain
# PyTorch loop.
# Usage: benchmarks/measure_cpu.sh [RECIPE …], by default all of them, which takes about half an hour.
# Run nothing else meanwhile. With DATA=FOLDER the data sets are read from a folder, otherwise data are
# random. Lines are appended to benchmarks/results/speed.jsonl.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-.venv/bin/python}"
export OMP_NUM_THREADS=2
speed() {
  "$python" -m aleator.benchmark.speed "$@" --device cpu ${DATA:+--data "$DATA"} |
    tee -a benchmarks/results/speed.jsonl
}
for recipe in ${*:-default-small default-har default-income default-kvasir-v1 default-cifar10 random-features income har}; do
  case "$recipe" in
    default-*) speed "$recipe" ;;
    random-features) speed har --method random-features ;;
    *) speed "$recipe" --epochs 3; speed "$recipe" --epochs 3 --reference ;;
  esac
done
