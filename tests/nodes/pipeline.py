"""What the traces of a broadcast of many segments show about how it moves (pipeline_test.py).

A rank hands segments on to its children: on its node by a publication, to other nodes by sends.
Here a child is an *edge*: per segment the time from the begin of the post that is for the child
until the child has it. The clocks of the processes of one machine are one clock.
"""
import collections
import itertools
import json
import pathlib

SEGMENT, SEGMENTS = 16384, 64  # as flows_probe has them
MOST = SEGMENTS // 2
# Who waits for each child posts the next segment when the child has taken the one before: never
# are two under way, or two for a moment, because a child notes what it has after it has said so.
SEVERAL = 3

Span = collections.namedtuple("Span", "begin end args")


def read(path):
    """(spans of segments by kind, sequences of broadcasts) of one rank."""
    spans, broadcasts = collections.defaultdict(list), []
    for e in json.loads(pathlib.Path(path).read_text())["traceEvents"]:
        if e.get("ph") != "X":
            continue
        if e["name"] == "bcast":
            broadcasts.append(e["args"]["sequence"])
        elif e["args"].get("value") == SEGMENT:
            spans[e["name"]].append(Span(e["ts"], e["ts"] + e["dur"], e["args"]))
    return spans, broadcasts


def by_vertex(spans):
    """{(sequence, vertex, peer): {index: span}}"""
    vertices = collections.defaultdict(dict)
    for span in spans:
        args = span.args
        vertices[args["sequence"], args["vertex"], args["peer"]][args["index"]] = span
    return vertices


def most_at_once(pairs):
    """Of spans, how many there are at one time; what ends at a time is not there any more."""
    steps = [(round(pair[0] * 1000), 1) for pair in pairs]
    steps += [(round(pair[1] * 1000), -1) for pair in pairs]
    most = now = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def most_in_flight(spans):
    """Of any vertex of any operation."""
    return max((most_at_once(v.values()) for v in by_vertex(spans).values()), default=0)


def edges(ranks, leader, sequence):
    """{child: {index: (begin, end)}}. `ranks`: {rank: (spans, broadcasts)}."""
    vertices = by_vertex(ranks[leader][0]["send"] + ranks[leader][0]["publish"])
    found = {}
    for child, (spans, _) in ranks.items():
        for (number, _, parent), received in by_vertex(spans["recv"]).items():
            if number != sequence or parent != leader or len(received) != SEGMENTS:
                continue
            # A publication does not say for whom it is. The last that comes into question.
            begins = {
                index: max(
                    (
                        vertex[index].begin
                        for (other, _, peer), vertex in vertices.items()
                        if other == sequence and peer in (child, -1) and index in vertex
                        and vertex[index].begin < span.end
                    ),
                    default=span.end,
                )
                for index, span in received.items()
            }
            found[child] = {i: (begins[i], span.end) for i, span in received.items()}
    return found


def touching(edge, other):
    """How many segments were under way while one was on the other edge."""
    return sum(
        any(begin < ends and begins < end for begins, ends in other.values())
        for begin, end in edge.values()
    )


def overlapping(children, several=all):
    """Are most segments of each child under way while others are on the way to each other child,
    and several at once for each child (`several`: all) or for one at least (any)?"""
    return several(most_at_once(edge.values()) >= SEVERAL for edge in children.values()) and all(
        min(touching(a, b), touching(b, a)) >= MOST
        for a, b in itertools.combinations(children.values(), 2)
    )


def served_early(spans, sequence, ahead):
    """How many vertices hand on most segments before `ahead` segments later has come."""
    received = [v for (s, _, _), v in by_vertex(spans["recv"]).items() if s == sequence]
    if len(received) != 1 or len(received[0]) != SEGMENTS:
        return 0
    came = {index: span.end for index, span in received[0].items()}
    early = 0
    for (number, _, _), vertex in by_vertex(spans["send"] + spans["publish"]).items():
        if number == sequence and len(vertex) == SEGMENTS:
            before = sum(vertex[i].begin < came[i + ahead] for i in range(SEGMENTS - ahead))
            early += before >= MOST
    return early


def look(folder):
    """{rank: (spans, broadcasts)} of the files RANK.json."""
    return {int(path.stem): read(path) for path in pathlib.Path(folder).glob("*.json")}


def most_overlapping(ranks, several=all):
    """To how many children a leader's segments are under way at the same time, at most."""
    most = 0
    for leader, (_, broadcasts) in ranks.items():
        for sequence in broadcasts:
            children = edges(ranks, leader, sequence)
            if len(children) > most and overlapping(children, several):
                most = len(children)
    return most


def most_children(ranks):
    """Of a leader, whose whole broadcast the traces show."""
    return max((len(edges(ranks, leader, sequence))
                for leader, (_, broadcasts) in ranks.items() for sequence in broadcasts),
               default=0)  # fmt: skip


def most_early(ranks, ahead):
    """Of how many vertices a leader hands on most segments early, at most."""
    return max(
        served_early(spans, sequence, ahead)
        for spans, broadcasts in ranks.values()
        for sequence in broadcasts
    )
