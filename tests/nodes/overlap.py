#!/usr/bin/env python3
"""overlap.py ESP_RUN PROBE: what the traces of large collectives over 3 nodes show.

Never are more sends or receives of a vertex in flight than its window. Of leaders: sends to
another node and publications inside the own node overlap, and a segment is handed on before the
next one has come.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

SEGMENT, SENDS, RECEIVES = 16384, 4, 32  # as the probe has them


def read(path):
    """Spans of segments by kind: (begin, end, args), in the order of their begins."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e["args"].get("value") == SEGMENT:
            spans[e["name"]].append((e["ts"], e["ts"] + e["dur"], e["args"]))
    return spans


def most_in_flight(spans):
    """Of any vertex of any operation."""
    changes = collections.defaultdict(list)
    for begin, end, args in spans:
        key = args["team"], args["sequence"], args["vertex"]
        changes[key] += [(round(begin * 1000), 1), (round(end * 1000), -1)]
    most = 0
    for steps in changes.values():
        now = 0
        for _, change in sorted(steps):  # at one time ends come first
            now += change
            most = max(most, now)
    return most


def overlap(these, those):
    return any(a[0] < b[1] and b[0] < a[1] for a in these for b in those)


def hands_on_early(spans):
    came = {(a["sequence"], a["index"]): end for _, end, a in spans["recv"]}
    return any(
        begin < came.get((a["sequence"], a["index"] + 1), 0) for begin, _, a in spans["publish"]
    )


def look(folder):
    """The number of leaders that overlapped, and of those that handed on before the next came."""
    both = early = 0
    paths = sorted(pathlib.Path(folder).glob("*.json"))
    assert len(paths) == 6, paths
    for path in paths:
        spans = read(path)
        sends = max(most_in_flight(spans["send"]), most_in_flight(spans["publish"]))
        receives = most_in_flight(spans["recv"])
        print(f"{path.name}: at most {sends} sends and {receives} receives in flight")
        assert sends <= SENDS, "more sends than their window"
        # Receivers were there first, so their windows were full.
        assert receives == RECEIVES, "receives are not those of their window"
        both += len(spans["publish"]) >= 32 and overlap(spans["send"], spans["publish"])
        early += hands_on_early(spans)
    return both, early


def main(esp_run, probe):
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [esp_run, "--timeout", "50", "-n", "6", "--nodes", "3", probe, "expected", folder],
                check=True,
            )
            both, early = look(folder)
        print(f"{both} leaders with overlapping levels, {early} that handed on early")
        if both >= 1 and early >= 1:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
