#!/usr/bin/env python3
"""What pipeline.py accepts, and what it must not, on made-up traces of a leader (rank 1) that has
segments from rank 0 and hands them on to ranks 2 (another node) and 3 (its own)."""
import json
import pathlib
import tempfile
import unittest

import pipeline
from pipeline import SEGMENTS

LEADER, SEQUENCE = 1, 7


class Job:
    """Times in microseconds."""

    def __init__(self):
        self.ranks = {rank: ({"send": [], "publish": [], "recv": []}, [SEQUENCE])
                      for rank in range(4)}

    def add(self, rank, kind, begin, end, vertex, index, peer, sequence=SEQUENCE):
        args = {"sequence": sequence, "vertex": vertex, "index": index, "peer": peer}
        self.ranks[rank][0][kind].append(pipeline.Span(begin, end, args))

    def came(self, index, at):
        self.add(LEADER, "recv", 0, at, 0, index, 0)

    def handed(self, child, index, begin, end):
        """The post itself takes no time at all; `end`: the child has it."""
        if child == 2:
            self.add(LEADER, "send", begin, begin, 1, index, 2)
        else:
            self.add(LEADER, "publish", begin, begin, 2, index, -1)
        self.add(child, "recv", 0, end, 0, index, LEADER)

    def overlaps(self, several=all):
        return pipeline.most_overlapping(self.ranks, several)

    def early(self, ahead=1):
        return pipeline.most_early(self.ranks, ahead)


def fill(times):
    """`times(i)`: when segment i came; begin and end for either child."""
    job = Job()
    for i in range(SEGMENTS):
        came, two, three = times(i)
        job.came(i, came)
        job.handed(2, i, *two)
        job.handed(3, i, *three)
    return job


class Accepts(unittest.TestCase):
    def test_a_pipeline(self):
        job = fill(lambda i: (10 * i, (10 * i + 1, 10 * i + 41), (10 * i + 2, 10 * i + 35)))
        self.assertEqual((job.overlaps(), job.early()), (2, 2))

    def test_segments_that_come_two_at_a_time(self):
        pair = [10 * (i // 2 * 2) for i in range(SEGMENTS)]
        job = fill(lambda i: (pair[i], (pair[i] + 1, pair[i] + 41), (pair[i] + 2, pair[i] + 35)))
        self.assertEqual((job.overlaps(), job.early(2)), (2, 2))


    def test_a_long_way_to_one_child(self):
        """The other child has each segment at once."""
        job = fill(lambda i: (10 * i, (10 * i + 1, 10 * i + 41), (10 * i + 2, 10 * i + 3)))
        self.assertEqual((job.overlaps(), job.overlaps(any), job.early()), (0, 2, 2))


class Counts(unittest.TestCase):
    def test_children_that_got_all(self):
        job = fill(lambda i: (10 * i, (10 * i, 10 * i + 4), (10 * i + 4, 10 * i + 8)))
        self.assertEqual(pipeline.most_children(job.ranks), 2)
        del job.ranks[3][0]["recv"][0]
        self.assertEqual(pipeline.most_children(job.ranks), 1)


class Refuses(unittest.TestCase):
    def test_one_child_after_the_other_per_segment(self):
        job = fill(lambda i: (10 * i, (10 * i, 10 * i + 4), (10 * i + 4, 10 * i + 8)))
        self.assertEqual((job.overlaps(), job.overlaps(any), job.early()), (0, 0, 2))

    def test_both_children_and_then_the_next_segment(self):
        job = fill(lambda i: (10 * i, (10 * i, 10 * i + 10), (10 * i, 10 * i + 10)))
        self.assertEqual((job.overlaps(), job.overlaps(any), job.early()), (0, 0, 2))

    def test_one_level_after_the_other(self):
        """Each is a pipeline in itself."""
        job = fill(lambda i: (10 * i, (1000 + 10 * i, 1040 + 10 * i),
                              (2000 + 10 * i, 2040 + 10 * i)))
        self.assertEqual((job.overlaps(), job.overlaps(any), job.early()), (0, 0, 0))

    def test_levels_that_meet_at_their_ends_only(self):
        job = fill(lambda i: (10 * i, (10 * i, 10 * i + 40), (600 + 10 * i, 640 + 10 * i)))
        self.assertEqual((job.overlaps(), job.early()), (0, 1))

    def test_a_single_early_segment(self):
        job = fill(lambda i: (10 * i, (10 * i if i == 9 else 1000 + 10 * i, 1040 + 10 * i),
                              (10 * i if i == 9 else 1000 + 10 * i, 1040 + 10 * i)))
        self.assertEqual((job.overlaps(), job.early()), (2, 0))

    def test_segments_that_come_all_at_once(self):
        job = fill(lambda i: (10, (10 * i + 20, 10 * i + 60), (10 * i + 20, 10 * i + 60)))
        self.assertEqual((job.overlaps(), job.early()), (2, 0))

    def test_two_publications_are_told_apart_by_their_time(self):
        """One after the other, and the trace does not say which is for whom."""
        job = Job()
        for i in range(SEGMENTS):
            job.came(i, 10 * i)
            for vertex, child, begin in ((1, 2, 10 * i), (2, 3, 10 * i + 4)):
                job.add(LEADER, "publish", begin, begin + 1, vertex, i, -1)
                job.add(child, "recv", 0, begin + 4, 0, i, LEADER)
        self.assertEqual(job.overlaps(), 0)

    def test_an_allreduce(self):
        """What goes up and what comes down is not two levels."""
        job = fill(lambda i: (10 * i, (10 * i + 1, 10 * i + 41), (10 * i + 2, 10 * i + 35)))
        for _, broadcasts in job.ranks.values():
            broadcasts.clear()
            broadcasts.append(SEQUENCE + 1)
        self.assertEqual((job.overlaps(), job.early()), (0, 0))


class Reads(unittest.TestCase):
    def test_a_trace_file(self):
        args = {"sequence": 3, "vertex": 1, "index": 2, "peer": 0, "value": pipeline.SEGMENT}
        events = [{"ph": "X", "name": "bcast", "ts": 0, "dur": 9, "args": {"sequence": 3}},
                  {"ph": "X", "name": "reduce", "ts": 0, "dur": 9, "args": {"sequence": 4}},
                  {"ph": "X", "name": "send", "ts": 2.5, "dur": 1.25, "args": args},
                  {"ph": "X", "name": "send", "ts": 2, "dur": 1, "args": {**args, "value": 8}},
                  {"ph": "i", "name": "send", "ts": 2, "args": args}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "5.json"
            path.write_text(json.dumps({"traceEvents": events}))
            found = pipeline.look(folder)
        spans, broadcasts = found[5]
        self.assertEqual((dict(spans), broadcasts), ({"send": [(2.5, 3.75, args)]}, [3]))

    def test_what_is_in_flight(self):
        job = Job()
        for i in range(4):  # the third begins when the first ends
            job.add(0, "send", i, i + 2, 1, i, 2)
        self.assertEqual(pipeline.most_in_flight(job.ranks[0][0]["send"]), 2)


if __name__ == "__main__":
    unittest.main()
