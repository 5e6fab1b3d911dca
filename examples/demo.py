"""Does learning from randomness help? Three looks at data that scikit-learn ships.

Handwritten digits as images (1 × 8 × 8) and as series (each row of pixels a channel, each column a
time step), and breast-cancer measurements as a table. Encoders see the training part without
labels; then the same logistic regression judges raw features, a random encoder and LFR.
"""

import json
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from aleator import LFR, RandomEncoder

OUT = Path("demo-output")


def data_sets():
    digits = load_digits()
    cancer = load_breast_cancer()
    images = {"encoder": small_cnn, "embedding_dim": 256, "epochs": 40, "predictor_epochs": 3}
    yield "image", "digits, 1 × 8 × 8", digits.images[:, None], digits.target, images
    table = {"embedding_dim": 128, "epochs": 100}
    yield "table", "breast cancer, 30 columns", cancer.data, cancer.target, table
    series = {"embedding_dim": 256, "epochs": 30, "predictor_epochs": 2}
    yield "series", "digits, 8 channels × 8 steps", digits.images, digits.target, series


def small_cnn(input_shape, embedding_dim):
    """An encoder of our own: ResNet-18, the default for images, is too deep for 8 × 8 pixels."""
    channels, height, width = input_shape
    return nn.Sequential(
        nn.Conv2d(channels, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (height // 2) * (width // 2), embedding_dim),
    )


def judge(train, train_labels, test, test_labels):
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return probe.fit(train, train_labels).score(test, test_labels)


def main():
    console = Console()
    table = Table(title="Test accuracy (%) of the same logistic regression on three inputs")
    for column in ("kind", "data"):
        table.add_column(column, no_wrap=True)
    for column in ("raw", "random\nencoder", "LFR", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    results = []
    for kind, description, X, y, settings in data_sets():
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
        flat_train, flat_test = X_train.reshape(len(X_train), -1), X_test.reshape(len(X_test), -1)
        raw = judge(flat_train, y_train, flat_test, y_test)
        lfr = LFR(**settings, random_state=0)
        same = {key: settings[key] for key in ("encoder", "embedding_dim") if key in settings}
        random = RandomEncoder(**same, random_state=0).fit(X_train)
        untrained = judge(random.transform(X_train), y_train, random.transform(X_test), y_test)
        began = time.perf_counter()
        lfr.fit(X_train)
        seconds = time.perf_counter() - began
        trained = judge(lfr.transform(X_train), y_train, lfr.transform(X_test), y_test)
        lfr.save(OUT / kind)
        scores = {"raw": raw, "random": untrained, "lfr": trained}
        shown = [f"{100 * score:.1f}" for score in scores.values()]
        best = max(scores.values())
        shown = [
            f"[bold]{text}[/bold]" if score == best else text
            for text, score in zip(shown, scores.values(), strict=True)
        ]
        table.add_row(kind, description, *shown, f"{seconds:.1f}")
        results.append({"kind": kind, "data": description, "accuracy": scores, "seconds": seconds})
    (OUT / "results.json").write_text(json.dumps(results, indent=1))
    console.print(table)
    console.print("The random encoder is LFR's own network before training.")
    console.print(f"Wrote {OUT}/results.json and the trained models, to be read with aleator.load:")
    console.print(f"  {OUT}/table  {OUT}/series")
    console.print(f"  {OUT}/image  (its encoder is our own: load(path, encoder=small_cnn(…)))")


if __name__ == "__main__":
    main()
