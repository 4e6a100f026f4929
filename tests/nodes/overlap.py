#!/usr/bin/env python3
"""overlap.py ESP_RUN PROBE: what the traces of broadcasts over 3 nodes show of their leaders.

Sends to another node and publications inside the own node overlap, and a segment is handed on
before the next one has come.
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def spans(path, name):
    events = json.loads(path.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    return [
        (e["ts"], e["ts"] + e.get("dur", 0), e["args"])
        for e in events
        if e.get("name") == name and e.get("ph") == "X"
    ]


def overlap(these, those):
    return sum(1 for a in these for b in those if a[0] < b[1] and b[0] < a[1])


def look(folder):
    """The number of leaders that overlapped, and of those that handed on before the next came."""
    both = early = 0
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        sends, publications = spans(path, "send"), spans(path, "publish")
        if len(sends) >= 32 and len(publications) >= 32 and overlap(sends, publications):
            both += 1
        came = {(r[2].get("sequence"), r[2].get("index")): r[1] for r in spans(path, "recv")}
        handed = [
            p[0] < came[(p[2].get("sequence"), p[2].get("index") + 1)]
            for p in publications
            if (p[2].get("sequence"), p[2].get("index") + 1) in came
        ]
        early += any(handed)
    return both, early


def main(esp_run, probe):
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [esp_run, "--timeout", "50", "-n", "6", "--nodes", "3", probe, "trace", folder],
                check=True,
            )
            both, early = look(folder)
        print(f"{both} leaders with overlapping levels, {early} that handed on early")
        if both >= 1 and early >= 1:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
