"""The command line: aleator bench NAME."""

from __future__ import annotations

import argparse
import sys

import aleator


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; returns the exit status."""
    from aleator.benchmark import command as bench

    parser = argparse.ArgumentParser(
        prog="aleator", description="Representations without labels and without augmentations."
    )
    parser.add_argument("--version", action="version", version=f"aleator {aleator.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    bench.add_arguments(commands.add_parser("bench", help="run benchmarks of the paper"))
    options = parser.parse_args(arguments)
    try:
        return bench.run(options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
