#!/usr/bin/env bash
# Every figure that wants a GPU. Usage: benchmarks/measure_gpu.sh DATA_FOLDER [OUT_FOLDER]
# Lines are appended; on an H200 the whole takes about 25 minutes, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
data="$1"
out="${2:-benchmarks/results}"
python="${PYTHON:-.venv/bin/python}"
speed() { "$python" -m aleator.benchmark.speed "$@" --device cuda; }
accuracy() { "$python" -m aleator.benchmark.accuracy "$@" --data "$data" --seeds 0 1 2 --device cuda; }

# LFR: a cold fit of every recipe, and its accuracy.
for recipe in income theorem har epilepsy kvasir; do
  speed "$recipe" >> "$out/speed.jsonl"
done
accuracy theorem income har epilepsy --out "$out/lfr.jsonl"

# The others: an encoder pass of each beside LFR's, and their accuracy.
for method in lfr autoencoder dacl diet simclr simsiam tstcc supervised; do
  speed har --method "$method" --epochs 12 >> "$out/passes.jsonl"
done
for method in lfr autoencoder dacl diet simsiam scarf stab supervised; do
  speed income --method "$method" --epochs 12 >> "$out/passes.jsonl"
done
for method in lfr simclr; do
  speed kvasir --method "$method" --epochs 6 >> "$out/passes.jsonl"
done
accuracy har epilepsy --methods logreg random supervised autoencoder dacl diet simclr simsiam tstcc \
  --out "$out/baselines.jsonl"
accuracy income theorem --methods logreg random supervised autoencoder dacl diet simsiam scarf stab \
  --out "$out/baselines.jsonl"
