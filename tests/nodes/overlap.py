#!/usr/bin/env python3
"""overlap.py ESP_RUN PROBE: what the traces of large collectives show, over 3 nodes, and over 2
nodes of 2 emulated sockets each.

Never are more sends or receives of a vertex in flight than its window. Of leaders: what they send
to other nodes, to other sockets and inside their own socket overlaps, and a segment is handed on
to each level before the next one has come.
"""
import collections
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SEGMENT, SENDS, RECEIVES = 16384, 4, 32  # as the probe has them
SEGMENTS = 64


def read(path):
    """Spans of segments by kind: (begin, end, args), in the order of their begins."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e["args"].get("value") == SEGMENT:
            spans[e["name"]].append((e["ts"], e["ts"] + e["dur"], e["args"]))
    return spans


def by_vertex(spans):
    vertices = collections.defaultdict(list)
    for span in spans:
        args = span[2]
        vertices[args["sequence"], args["vertex"]].append(span)
    return vertices


def most_in_flight(spans):
    """Of any vertex of any operation."""
    most = 0
    for vertex in by_vertex(spans).values():
        now = 0
        ends = [(round(end * 1000), -1) for _, end, _ in vertex]
        begins = [(round(begin * 1000), 1) for begin, _, _ in vertex]
        for _, change in sorted(begins + ends):  # at one time ends come first
            now += change
            most = max(most, now)
    return most


def overlapping_levels(spans):
    """The most vertices of one operation that hand on all segments, each pair at the same time."""
    operations = collections.defaultdict(list)
    for (sequence, _), vertex in by_vertex(spans["send"] + spans["publish"]).items():
        if len(vertex) == SEGMENTS:
            hull = min(s[0] for s in vertex), max(s[1] for s in vertex)
            operations[sequence].append(hull)
    return max(
        (
            len(hulls)
            for hulls in operations.values()
            if all(a[0] < b[1] and b[0] < a[1] for a, b in itertools.combinations(hulls, 2))
        ),
        default=0,
    )


def hands_on_early(spans):
    """To how many levels a segment goes before the next one has come, at most."""
    came = {(a["sequence"], a["index"]): end for _, end, a in spans["recv"]}
    levels = collections.Counter()
    for (sequence, _), vertex in by_vertex(spans["send"] + spans["publish"]).items():
        levels[sequence] += any(
            begin < came.get((sequence, a["index"] + 1), 0) for begin, _, a in vertex
        )
    return max(levels.values(), default=0)


def look(folder, ranks):
    """Of the leader that shows most: levels that overlapped, levels served early."""
    both = early = 0
    paths = sorted(pathlib.Path(folder).glob("*.json"))
    assert len(paths) == ranks, paths
    for path in paths:
        spans = read(path)
        sends = max(most_in_flight(spans["send"]), most_in_flight(spans["publish"]))
        receives = most_in_flight(spans["recv"])
        print(f"{path.name}: at most {sends} sends and {receives} receives in flight")
        assert sends <= SENDS, "more sends than their window"
        # Receivers were there first, so their windows were full.
        assert receives == RECEIVES, "receives are not those of their window"
        both = max(both, overlapping_levels(spans))
        early = max(early, hands_on_early(spans))
    return both, early


def show(command, ranks, levels, handing_on):
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*command, folder], check=True)
            both, early = look(folder, ranks)
        print(f"{both} levels of a leader overlap, {early} are served before the next segment came")
        if both >= levels and early >= handing_on:
            return True
    return False


def main(esp_run, probe):
    run = [esp_run, "--timeout", "50"]
    nodes = show([*run, "-n", "6", "--nodes", "3", probe, "expected"], 6, 2, 1)
    os.environ.update(ESPALIER_TOPOLOGY="pack:2 core:2 pu:1", ESPALIER_LEVELS="on")
    # The root serves three levels. A head of another node serves two: its sockets.
    sockets = show([*run, "-n", "8", "--nodes", "2", probe, "expected"], 8, 3, 2)
    return 0 if nodes and sockets else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
