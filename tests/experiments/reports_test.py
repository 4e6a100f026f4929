#!/usr/bin/env python3
"""reports_test.py SOURCE: the reports in docs/results are what their figures say.

Their texts come from report.md beside each experiment, their tables from the JSON beside each
report: who changes one and not the other finds out here. Plots that reports show must be there.
"""

import importlib
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
EXPERIMENTS = SOURCE / "bench" / "experiments"
RESULTS = SOURCE / "docs" / "results"


def module(folder, name):
    sys.path.insert(0, str(EXPERIMENTS / folder))
    return importlib.import_module(name)


def check(name, text):
    written = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert text == written, f"docs/results/{name}.md is not what its figures say: run --report"
    assert "@" not in re.sub(r"`[^`]*`", "", text), f"{name}.md has a place that was not filled"
    for plot in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (RESULTS / plot).exists(), f"{name}.md shows {plot}, which is not there"


def figures(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


check("noise", module("noise", "tables").report(figures("noise")))
check("topology", module("topology", "topology").report(figures("topology")))
published = module("published", "published")
check("published", published.report(published.Figures(RESULTS / "published.json")))
partial = module("partial", "partial")
check("partial", partial.report(partial.Figures(RESULTS / "partial.json")))
print("reports are what their figures say")
