"""A product of a matrix by operations that open each other's inputs: right, and not one after the
other: on the diagonal, segments go down the column before the last one has come from the row.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

esp_run, matvec = sys.argv[1:3]


def overlaps(events):
    """How many broadcasts had sent something before the gather before them was complete."""
    segments = collections.defaultdict(list)
    operations = collections.defaultdict(lambda: collections.defaultdict(list))
    for e in events:
        if e.get("ph") != "X":
            continue
        key = (e["args"]["team"], e["args"]["sequence"])
        if e["name"] in ("send", "recv", "publish"):
            segments[e["pid"], key].append(e)
        elif e["name"] in ("gather", "bcast"):
            operations[e["pid"]][e["name"]].append(key)
    count = 0
    for rank, kinds in operations.items():
        for gather, bcast in zip(kinds["gather"], kinds["bcast"]):
            came = [e["ts"] + e["dur"] for e in segments[rank, gather] if e["name"] == "recv"]
            went = [e["ts"] for e in segments[rank, bcast] if e["name"] != "recv"]
            count += bool(came and went and min(went) < max(came))
    return count


with tempfile.TemporaryDirectory() as folder:
    trace = pathlib.Path(folder) / "trace.json"
    # Many segments of little data, by plans and not by lines.
    settings = {
        "ESPALIER_TRACE": str(trace),
        "ESPALIER_ALGORITHM": "tree",
        "ESPALIER_SEGMENT_BYTES": "512",
    }
    found = 0
    for attempt in range(10):  # it is up to the scheduler whether segments come one by one
        run = subprocess.run(
            [esp_run, "-n", "4", matvec, "1500"], env=os.environ | settings, timeout=60,
            capture_output=True, text=True,
        )
        assert run.returncode == 0 and "are right" in run.stdout, run.stdout + run.stderr
        found = overlaps(json.loads(trace.read_text())["traceEvents"])
        if found > 0:
            break
    assert found > 0, "no broadcast began before the gather before it was complete"

for arguments, words in (["0"], "usage"), (["1", "2"], "usage"):
    run = subprocess.run(
        [esp_run, "-n", "1", matvec, *arguments], timeout=60, capture_output=True, text=True
    )
    assert run.returncode != 0 and words in run.stderr, run.stderr
run = subprocess.run([esp_run, "-n", "3", matvec], timeout=60, capture_output=True, text=True)
assert run.returncode != 0 and "is a square (it is 3)" in run.stderr, run.stderr
print("overlapping steps:", found)
