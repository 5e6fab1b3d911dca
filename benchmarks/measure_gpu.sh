#!/usr/bin/env bash
# Every figure that wants a GPU: speed of the five recipes, accuracy of four on real data.
# Usage: benchmarks/measure_gpu.sh DATA_FOLDER [OUT_FOLDER]; about ten minutes on an H200.
set -euo pipefail
cd "$(dirname "$0")/.."
data="$1"
out="${2:-benchmarks/results}"
python="${PYTHON:-.venv/bin/python}"
for recipe in income theorem har epilepsy kvasir; do
  "$python" -m aleator.benchmark.speed "$recipe" --device cuda | tee -a "$out/speed.jsonl"
done
"$python" -m aleator.benchmark.accuracy theorem income har epilepsy \
  --data "$data" --seeds 0 1 2 --device cuda --out "$out/lfr.jsonl"
