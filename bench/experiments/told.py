"""What experiments have in common: their options, and how numbers are told in tables."""

import argparse
import pathlib

ROOT = (pathlib.Path(__file__).parent / ".." / "..").resolve()
K, M = 1 << 10, 1 << 20


def parser_of(doc, sections):
    """Of options that all have; `sections`: their names."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "results")
    parser.add_argument("--only", nargs="+", choices=list(sections), default=list(sections))
    return parser


def simulation_options(doc, sections):
    """Those of an experiment whose figures stay on file."""
    parser = parser_of(doc, sections)
    parser.add_argument("--most-ranks", type=int, default=1 << 24)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--report", action="store_true", help="from the figures that are there")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def size(bytes_):
    for unit, name in ((M, "MiB"), (K, "KiB")):
        if bytes_ >= unit and bytes_ % unit == 0:
            return f"{bytes_ // unit} {name}"
    return f"{bytes_} B"


def times(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(map(str, row)) + " |" for row in rows)]
