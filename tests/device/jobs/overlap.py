"""Network, copies from a device and copies to one go on at the same time: a job's trace shows it.

Usage: overlap.py ESP_RUN PROBE. Devices are slow here, so that all of them take their time.
"""

import json
import os
import subprocess
import sys

ESP_RUN, PROBE = sys.argv[1:3]
FILE = "overlap.json"


def slices(rank, *names):
    """[(begin, end)] of that rank's slices of these kinds, of the longest operation."""
    with open(FILE) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    found = [e for e in events if e["pid"] == rank and e["name"] in names]
    assert found, f"rank {rank} has none of {names}: {sorted({e['name'] for e in events})}"
    return [(e["ts"], e["ts"] + e["dur"]) for e in found]


def overlapping(some, others):
    """How many of `some` begin before one of the others ends, and end after it begins."""
    return sum(any(a < d and c < b for c, d in others) for a, b in some)


environment = dict(os.environ, ESPALIER_TRACE=FILE, PLAYED_CUDA_DELAY_US="300",
                   ESPALIER_TRACE_EVENTS="262144")
subprocess.run([ESP_RUN, "-n", "4", "--nodes", "2", PROBE, "stream"], env=environment, check=True)
# Rank 0 is the root: what it packs goes to the other node while more is packed.
packed, sent = slices(0, "pack"), slices(0, "send", "publish")
# Rank 2 leads the other node: what comes is copied to its device, and read there by rank 3.
received, unpacked = slices(2, "recv"), slices(2, "unpack")
passed_on = slices(2, "send", "publish")
for name, some, others in (("packed while sent", packed, sent),
                           ("unpacked while received", unpacked, received),
                           ("unpacked while passed on", unpacked, passed_on)):
    count = overlapping(some, others)
    print(f"{name}: {count} of {len(some)} pieces")
    assert 4 * count >= len(some), name
