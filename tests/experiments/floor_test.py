#!/usr/bin/env python3
"""floor_test.py ESP_NOISE_FLOOR: what ideal protocols lose is bounded as its definition says."""

import json
import subprocess
import sys


def floors(*arguments):
    text = subprocess.run([sys.argv[1], "--ranks", "64", "--bytes", "262144", "--segments", "4",
                           *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


(quiet,) = floors("--calls", "3", "--noise", "none")
assert quiet["apart_us"] <= quiet["quiet_us"] * 1.000001, quiet
assert abs(quiet["together_us"] - quiet["quiet_us"]) < 0.01, quiet

cases = floors("--calls", "1,5,50", "--noise", "uniform:10hz:0-20ms", "--noise-every", "32,1",
               "--seeds", "1,2,3", "--op", "reduce")
assert len(cases) == 18
for case in cases:
    assert case["quiet_us"] - 0.01 <= case["apart_us"] <= case["together_us"] + 0.01, case
for calls in (1, 5, 50):
    some, every = ([case for case in cases if case["calls"] == calls and
                    case["noise_every"] == step] for step in (32, 1))
    for few, all_ranks in zip(some, every):
        assert few["together_us"] <= all_ranks["together_us"], (few, all_ranks)

wrong = subprocess.run([sys.argv[1], "--noise", "gauss"], stderr=subprocess.PIPE, text=True,
                       check=False)
assert wrong.returncode == 2 and "gauss" in wrong.stderr, wrong
print("floors are where they belong")
