"""Measure several parts at once: the salaries of Montgomery County, whose file is given.

    python benchmarks/several_parts.py FOLDER/employee_salaries.zip

Columns of categories and dates are one part, a table; the title of the position, with the division,
is the other one, text. Of the rows, in an order drawn with seed 0, the first 1500 are the training
part and the next 1500 the test part, so that a run takes minutes on a CPU. Every estimator is
fitted with three seeds on the training part, without salaries: on the table, on the text, and on
both. Then a ridge regression on what it returns, standardized, learns 10 % of the salaries, or all
of them; its penalty is chosen by cross-validation within them. Printed and stored is R² on the test
part, in percent.
"""

import argparse
import json
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aleator import LFR, RandomEncoder, RandomFeatures
from aleator.atomic_io import write_file

RESULTS = Path(__file__).parent / "results" / "several_parts.json"
SEEDS, SHARES = (0, 1, 2), (0.1, 1.0)
N_ROWS = 1500
TARGET, TEXT = "current_annual_salary", ["employee_position_title", "division"]
MODELS = {
    "LFR": lambda seed: LFR(random_state=seed, progress=False),
    "RandomEncoder": lambda seed: RandomEncoder(random_state=seed),
    "RandomFeatures": lambda seed: RandomFeatures(random_state=seed),
}
PARTS = {
    "table": lambda X: X["table"],
    "text": lambda X: X["text"],
    "both": lambda X: X,
}


def read(path):
    with zipfile.ZipFile(path) as folder:
        name = next(name for name in folder.namelist() if name.endswith(".csv"))
        return pd.read_csv(folder.open(name))


def parts_of(frame):
    text = frame[TEXT].fillna("").agg(" | ".join, axis=1)
    return {"table": frame.drop(columns=[*TEXT, TARGET]), "text": text}


def score(train, y_train, test, y_test, share, seed):
    rows = np.random.default_rng(seed).permutation(len(train))[: round(share * len(train))]
    probe = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 6, 15)))
    probe.fit(train[rows].astype(float), y_train[rows])
    return round(100 * probe.score(test.astype(float), y_test), 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--parts", nargs="*", default=list(PARTS))
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    frame = read(options.file)
    order = np.random.default_rng(0).permutation(len(frame))
    rows = order[:N_ROWS], order[N_ROWS : 2 * N_ROWS]
    train, test = (frame.iloc[chosen].reset_index(drop=True) for chosen in rows)
    y_train, y_test = (part[TARGET].to_numpy() for part in (train, test))
    for name in options.models:
        for part in options.parts:
            results = []
            for seed in options.seeds:
                X_train, X_test = (PARTS[part](parts_of(rows)) for rows in (train, test))
                start = time.perf_counter()
                model = MODELS[name](seed).fit(X_train)
                embedded = model.transform(X_train), model.transform(X_test)
                seconds = round(time.perf_counter() - start, 1)
                found = {
                    f"{share:.0%} of the labels": score(
                        embedded[0], y_train, embedded[1], y_test, share, seed
                    )
                    for share in SHARES
                }
                results.append({"seed": seed, "seconds": seconds, **found})
                print(name, part, json.dumps(results[-1]), flush=True)
            stored = json.loads(options.out.read_text()) if options.out.exists() else {}
            stored["command"] = "python benchmarks/several_parts.py employee_salaries.zip"
            stored["test"], stored["train"] = len(test), len(train)
            stored.setdefault("results", {}).setdefault(name, {})[part] = results
            write_file(options.out, (json.dumps(stored, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
