#!/usr/bin/env python3
"""overlap.py fast|slow|slow_waits ESP_RUN COMMAND...: what traces of large broadcasts show.

COMMAND starts flows_probe. fast: over 3 nodes, and over 2 nodes of 2 emulated sockets each. slow:
the network between the nodes is slow, so that segments come one by one, and long, so that several
are on their way at once however seldom a rank gets a core (tests/vm/jobs). slow_waits: there, too,
a variant that waits is found out.

Never are more sends or receives of a vertex in flight than its window. Of leaders: what they send
to other nodes, to other sockets and inside their own socket is under way at the same time, and
segments are handed on to each level before later ones have come. Variants of the same tree that
wait must be found out.
"""
import os
import subprocess
import sys
import tempfile

import pipeline

EVENT, WAITALL, BLOCKING = 0, 1, 2  # esp_variant
WINDOWS = 4, 32
# The next but one segment is asked for when one has come: so many come at once at most, however
# seldom this rank gets a core.
SMALL = 1, 2
# More than what a long network holds: whoever hands on never waits for its window.
LONG = 16, 32
TRIES = 15
ROUNDS = 6, 2  # of fast, and of slow


def traces(command, ranks, windows, variant=EVENT, mode="expected", rounds=ROUNDS[0]):
    with tempfile.TemporaryDirectory() as folder:
        numbers = map(str, (variant, *windows, rounds))
        subprocess.run([*command, mode, folder, *numbers], check=True)
        found = pipeline.look(folder)
    assert sorted(found) == list(range(ranks)), sorted(found)
    return found


def check_windows(ranks, windows):
    for rank, (spans, _) in sorted(ranks.items()):
        sends = max(pipeline.most_in_flight(spans[kind]) for kind in ("send", "publish"))
        receives = pipeline.most_in_flight(spans["recv"])
        print(f"rank {rank}: at most {sends} sends and {receives} receives in flight")
        assert sends <= windows[0], "more sends than their window"
        # Receivers were there first, so their windows were full. The root of all has none.
        assert receives == windows[1] or not spans["recv"], "receives are not those of their window"


def under_way(found, children, several=all):
    most = pipeline.most_overlapping(found, several)
    print(f"a leader's segments are under way to {most} children at the same time")
    return most >= children


def overlaps(command, ranks, children):
    found = traces(command, ranks, WINDOWS)
    check_windows(found, WINDOWS)
    return under_way(found, children)


def serves_early(found, levels, ahead):
    most = pipeline.most_early(found, ahead)
    print(f"a leader serves {most} levels before the segment {ahead} later has come")
    return most >= levels


def hands_on_early(command, ranks, levels):
    found = traces(command, ranks, SMALL)
    check_windows(found, SMALL)
    return serves_early(found, levels, SMALL[1])


def both(command, ranks, levels):
    """Publications are read before the next segment has come: several at once are only on the way
    to other nodes."""
    found = traces(command, ranks, LONG, mode="broadcasts", rounds=ROUNDS[1])
    check_windows(found, LONG)
    return serves_early(found, levels, 1) and under_way(found, levels, any)


def waits(command, ranks, variant, windows=WINDOWS, several=all, **how):
    """A variant that waits looks as if it did."""
    found = traces(command, ranks, windows, variant, **how)
    assert pipeline.most_children(found) > 1, "the traces show no leader with two children"
    most = pipeline.most_overlapping(found, several)
    print(f"variant {variant}: {most} children at the same time")
    return most < 2


def shown(what, *args):
    """What a busy machine hides is there when it shows once."""
    return any(what(*args) for _ in range(TRIES))


def fast(run, probe):
    nodes = [*run, "-n", "6", "--nodes", "3", *probe]
    # Not tried again: they never overlap.
    good = all([waits(nodes, 6, variant) for variant in (WAITALL, BLOCKING)])
    good = shown(overlaps, nodes, 6, 2) and good
    good = shown(hands_on_early, nodes, 6, 2) and good
    os.environ.update(ESPALIER_TOPOLOGY="pack:2 core:2 pu:1", ESPALIER_LEVELS="on")
    sockets = [*run, "-n", "8", "--nodes", "2", *probe]
    # The root serves three levels. A head of another node serves two: its sockets.
    good = shown(overlaps, sockets, 8, 3) and good
    return shown(hands_on_early, sockets, 8, 2) and good


def slow(run, probe):
    return shown(both, [*run, "-n", "6", "--nodes", "3", *probe], 6, 2)


def slow_waits(run, probe):
    nodes = [*run, "-n", "6", "--nodes", "3", *probe]
    return waits(nodes, 6, WAITALL, LONG, any, mode="broadcasts", rounds=1)


MODES = {"fast": fast, "slow": slow, "slow_waits": slow_waits}


def main(mode, esp_run, *probe):
    os.environ.update(ESPALIER_TRACE="1", ESPALIER_LEVEL_SHAPES="node:chain")
    run = [esp_run, "--timeout", "100"]
    return 0 if MODES[mode](run, probe) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
