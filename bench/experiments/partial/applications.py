#!/usr/bin/env python3
"""The examples with and without partial completion, for real: docs/results/applications.json.

usage: applications.py                 both, about 4 minutes of two processors
       applications.py --only NAME...  of sort, heat; the other's figures stay
       applications.py --rounds N      after one more that does not count (5)
       applications.py --minutes M     no new round of a section after this (2.5)
       applications.py --smallest      does it work at all; no results

All variants in turn, round by round, so that what else happens on the machine meets all alike.
--build has bin/esp-run, bin/histogram_sort and bin/heat; --out: where applications.json is.
partial.py --report puts the figures into partial.md.
"""

import json
import pathlib
import time

import plates
import sorts
from launches import OTHERS_MOST, Others, machine
from told import parser_of

SECTIONS = {module.SECTION: module for module in (sorts, plates)}
FILE = "applications.json"


def measure(name, options):
    """A section as it is on file."""
    module = SECTIONS[name]
    rounds, others, begin = module.rounds(), Others(), time.monotonic()
    count = rounds.measure(options.build, list(module.launches(options.smallest)), options.rounds,
                           options.minutes)
    section = {"machine": machine(), "others": others.used(), "rounds": count,
               "columns": rounds.columns + [rounds.figures], "rows": rounds.rows()}
    print(f"measured: {name}, {len(rounds.cells)} cells, {time.monotonic() - begin:.0f} s, others "
          f"used {section['others']} processors", flush=True)
    return section


def write(file, sections):
    texts = []
    for name, section in sections.items():
        lines = ",\n".join(json.dumps(row) for row in section["rows"])
        head = json.dumps({key: value for key, value in section.items() if key != "rows"})
        texts.append(f'{json.dumps(name)}: {head[:-1]}, "rows": [\n{lines}\n]}}')
    inside = ",\n".join(texts)
    file.write_text(f"{{\n{inside}\n}}\n", encoding="utf-8")


def read(file):
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def heading(section):
    where = section["machine"]
    text = (f"{where['model']}, {where['processors']} processors; rounds that count: "
            f"{section['rounds']}; other programs used {section['others']:.2f} processors.")
    if section["others"] > OTHERS_MOST:
        text += " **Provisional**: the machine was not quiet."
    return text


def tables(folder):
    """{section: lines of a report}"""
    lines = {}
    for name, section in read(folder / FILE).items():
        rounds = SECTIONS[name].rounds().read(section["rows"])
        lines[name] = [heading(section), "",
                       *SECTIONS[name].tables(rounds, section["machine"]["processors"])]
    return lines


def main():
    parser = parser_of(__doc__, SECTIONS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=2.5)
    parser.add_argument("--smallest", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sections = read(options.out / FILE)
    for name in options.only:
        sections[name] = measure(name, options)
        write(options.out / FILE, sections)


if __name__ == "__main__":
    main()
