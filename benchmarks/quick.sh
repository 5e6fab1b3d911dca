#!/usr/bin/env bash
# Run every benchmark on small synthetic data, in a few minutes on two cores: a test of the program,
# not of the methods. Usage: benchmarks/quick.sh [OUT_FOLDER]. Fails if any run fails.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-bench-quick}"
rm -rf "$out"
export OMP_NUM_THREADS=1  # one core per run: more threads would wait for each other
bench() {
  "${BIN:-.venv/bin}/aleator" bench "$@" --small --epochs-scale 0.001 --seeds 0 --jobs 2 \
    --device cpu --out "$out"
}
# One data set of every kind; the others are of the same kinds.
bench table1 finetune --datasets epilepsy mimic3 income kvasir --methods supervised random lfr
bench cifar10 neighbors --datasets cifar10 --methods supervised random lfr
bench transfer --datasets cwru-size-7 --methods supervised-transformer random lfr-default
# The other ablations, and studies of LFR, change its parameters; on a table they take the least time.
# The other studies of LFR need more samples than a small data set has.
bench projectors batch-size predictor-epochs embedding-dim selection-size loss diversity \
  finetune-settings efficiency research-diagnosis research-training --datasets theorem \
  --methods lfr lfr-default random-default random-features logreg
bench labels --datasets kvasir-v1 --methods random lfr-default
bench labels --datasets har theorem --methods logreg boosting random-features
bench table1 stab-dropout --datasets har theorem \
  --methods logreg random-default random-features autoencoder diet simsiam byol simclr \
  scarf stab tstcc dacl lfr-default
