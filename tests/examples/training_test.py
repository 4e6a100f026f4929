"""Training on several ranks: the same bits as on one, on the host and on a (played) device, and the
sums of gradients go on while the gradients before them are computed.

training_test.py ESP-RUN TRAINING PLAYED-DRIVER
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

esp_run, training, played = sys.argv[1:4]


def run(ranks, *arguments, settings={}):
    return subprocess.run(
        [esp_run, "-n", str(ranks), training, *arguments], env=os.environ | settings, timeout=60,
        capture_output=True, text=True,
    )


def under_way(events):
    """How many sums of a gradient sent or got something before the next one was started."""
    began, segments = collections.defaultdict(dict), collections.defaultdict(list)
    for e in events:
        if e.get("ph") != "X":
            continue
        key = (e["pid"], e["args"]["team"])
        number = e["args"]["sequence"]
        if e["name"] == "allreduce":
            began[key][number] = e["ts"]
        elif e["name"] in ("send", "recv", "publish"):
            segments[key, number].append(e["ts"] + e["dur"])
    count = 0
    for key, starts in began.items():
        order = sorted(starts)
        # In each step the gradients of three layers, then the loss, which comes right after.
        for place in range(len(order) - 1):
            start, then = starts[order[place]], starts[order[place + 1]]
            moved = segments[key, order[place]]
            count += place % 4 < 2 and any(start < end < then for end in moved)
    return count


for ranks in 1, 3, 4:
    for where in [], ["device"]:
        settings = {"ESPALIER_CUDA_DRIVER": played} if where else {}
        done = run(ranks, *where, settings=settings)
        told = f"on {ranks} ranks, gradients on the {'device' if where else 'host'}"
        assert done.returncode == 0 and told in done.stdout, done.stdout + done.stderr
        assert "losses and weights of 0 ranks differ" in done.stdout, done.stdout

with tempfile.TemporaryDirectory() as folder:
    trace = pathlib.Path(folder) / "trace.json"
    found = 0
    for attempt in range(10):  # it is up to the scheduler what moves when
        done = run(4, settings={"ESPALIER_TRACE": str(trace)})
        assert done.returncode == 0, done.stdout + done.stderr
        found = under_way(json.loads(trace.read_text())["traceEvents"])
        if found > 0:
            break
    assert found > 0, "no sum went on while a gradient was computed"

for argument, code, words in ("disk", 2, "usage"), ("device", 77, "nowhere"):
    done = run(2, argument, settings={"ESPALIER_CUDA_DRIVER": "/nowhere.so"})
    assert done.returncode == code and words in done.stderr, (done.returncode, done.stderr)
print("sums under way while gradients were computed:", found)
