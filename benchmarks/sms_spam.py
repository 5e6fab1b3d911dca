"""Measure texts: the SMS Spam Collection (UCI 228), whose file is given.

    python benchmarks/sms_spam.py FOLDER/SMSSpamCollection.gz

A fifth of the messages, drawn with seed 0, is the test part. Every estimator is fitted with three
seeds on the texts of the training part, without labels; then a standardized logistic regression
learns from 10 labels (five per class), 100 labels and all of them. Settings were chosen on a
quarter of the training part, held out.
"""

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from aleator import LFR, RandomEncoder, RandomFeatures
from aleator.atomic_io import write_file
from aleator.evaluation.label_curve import probe_evaluation
from aleator.evaluation.label_draws import labeling_order

RESULTS = Path(__file__).parent / "results" / "text.json"
SEEDS, COUNTS = (0, 1, 2), (10, 100, None)
MODELS = {
    "LFR": lambda seed: LFR(random_state=seed, progress=False),
    "RandomEncoder": lambda seed: RandomEncoder(random_state=seed),
    "RandomEncoder (encoder of LFR)": lambda seed: RandomEncoder(
        encoder="random-features", random_state=seed
    ),
    "RandomFeatures": lambda seed: RandomFeatures(random_state=seed),
}


def read(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file if line.strip()]
    labels, texts = zip(*rows, strict=True)
    return list(texts), np.array(labels)


def evaluate(train, y_train, test, y_test, seed):
    probe = probe_evaluation(train, y_train, test, y_test, seed=seed)
    found = {}
    for count in COUNTS:
        rows = np.arange(len(y_train)) if count is None else labeling_order(y_train, seed)[:count]
        metrics = probe(np.sort(rows))
        found[str(count or "all")] = {
            name: round(100 * value, 2) for name, value in metrics.items() if value == value
        }
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", nargs="*", default=[*MODELS, "tf-idf"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    texts, labels = read(options.file)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=0.2, random_state=0, stratify=labels
    )
    X_train, X_test = [texts[i] for i in train], [texts[i] for i in test]
    y_train, y_test = labels[train], labels[test]
    for name in options.models:
        results = []
        for seed in SEEDS:
            start = time.perf_counter()
            if name == "tf-idf":
                # Frequent words, whose dense matrix a standardized regression can take.
                model = TfidfVectorizer(sublinear_tf=True, max_features=2000).fit(X_train)
                embedded = [model.transform(X).toarray().astype("f4") for X in (X_train, X_test)]
            else:
                model = MODELS[name](seed).fit(X_train)
                embedded = [model.transform(X) for X in (X_train, X_test)]
            seconds = round(time.perf_counter() - start, 1)
            found = evaluate(embedded[0], y_train, embedded[1], y_test, seed)
            results.append({"seed": seed, "seconds": seconds, **found})
            print(name, json.dumps(results[-1]), flush=True)
        stored = json.loads(options.out.read_text()) if options.out.exists() else {}
        stored["command"] = "python benchmarks/sms_spam.py SMSSpamCollection.gz"
        stored["test"], stored["train"] = len(test), len(train)
        stored.setdefault("results", {})[name] = results
        write_file(options.out, (json.dumps(stored, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
