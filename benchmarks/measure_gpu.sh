#!/usr/bin/env bash
# Run everything that needs a GPU. Usage: benchmarks/measure_gpu.sh DATA_FOLDER [OUT_FOLDER]
# Lines are appended, and `aleator bench` continues where it stopped.
# JOBS runs share the GPU; twelve are a good choice on an H200 with CUDA's multi-process service.
set -euo pipefail
cd "$(dirname "$0")/.."
data="$1"
out="${2:-benchmarks/results}"
bin="${BIN:-.venv/bin}"
speed() { "$bin/python" -m aleator.benchmark.speed "$@" --device cuda; }
bench() { "$bin/aleator" bench "$@" --data "$data" --out "$out" --device cuda --jobs "${JOBS:-1}"; }

# Time, each in its own process: a fit of every LFR recipe, and an encoder pass of each method.
for recipe in income theorem har epilepsy kvasir; do
  speed "$recipe" >> "$out/speed.jsonl"
done
for recipe in default-small default-har default-income default-kvasir-v1 default-cifar10; do
  speed "$recipe" --data "$data" >> "$out/speed.jsonl"
done
for method in lfr autoencoder dacl diet simclr simsiam tstcc supervised; do
  speed har --method "$method" --epochs 12 >> "$out/passes.jsonl"
done
for method in lfr autoencoder dacl diet simsiam scarf stab supervised; do
  speed income --method "$method" --epochs 12 >> "$out/passes.jsonl"
done
for method in lfr simclr; do
  speed kvasir --method "$method" --epochs 12 >> "$out/passes.jsonl"
done
"$bin/python" -m aleator.benchmark.probe_speed --device cuda >> "$out/probes.jsonl"

# Tables, ablations and figures. --epochs-scale and --seeds are those of the committed results; without
# them everything is run in full.
bench labels table1 finetune --datasets har epilepsy income theorem kvasir-v1
bench labels --datasets gunpoint japanese-vowels
bench research
bench projectors batch-size predictor-epochs embedding-dim selection-size loss diversity \
  --datasets kvasir-v1 --epochs-scale 0.25 --seeds 0 1 2
bench labels --datasets cifar10 --methods logreg random random-default random-features lfr-default
bench labels --datasets cifar10 --epochs-scale 0.05 --seeds 0 \
  --methods supervised autoencoder simsiam simclr dacl lfr
bench cifar10 finetune --datasets cifar10 --epochs-scale 0.05 --seeds 0 \
  --methods supervised random autoencoder simsiam simclr dacl lfr
# Not yet part of the committed results: LFR in full, about twenty minutes, and the others for a
# quarter of their epochs. Interrupted runs continue.
bench cifar10 labels --datasets cifar10 --seeds 0 --methods lfr --checkpoint-every "2 min"
bench cifar10 labels --datasets cifar10 --seeds 0 --epochs-scale 0.25 --checkpoint-every "2 min" \
  --methods supervised random autoencoder diet simsiam simclr dacl
bench embedding-dim --datasets theorem --seeds 0 1 2
bench stab-dropout --seeds 0 1 2
bench finetune-settings
bench diet-epochs
bench simsiam-norm views stab-rate stab-trains dacl-share decoder supervised logreg-iterations fewer-rows
bench neighbors
bench table1 --datasets physionet2012
bench transfer --datasets cwru-load-{0,1,2,3} cwru-size-{7,14,21}
bench efficiency
