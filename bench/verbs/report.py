"""The tables of bench/verbs/verbs.py, from the rows of all launches."""

import re
import statistics

LATENCY_MAX, BANDWIDTH_MIN = 1.25, 0.9  # the aims, as ratios to perftest
COUNTS = ["sends", "doorbells", "send_completions", "arrivals", "refills", "looks", "packets",
          "answers", "copied_bytes", "registrations"]
MISSED = " **missed**"
MTU, PLACED_MIN = 4096, 16 << 10  # of the path; segments that the adapter writes into their place


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def median(rows, figure, **wanted):
    """Over the launches; None: there are none."""
    values = [row[figure] for row in rows
              if figure in row and all(row.get(key) == value for key, value in wanted.items())]
    return statistics.median(values) if values else None


def ratio_of(rows, figure, theirs, **ours):
    """Median over the rounds of our figure by theirs: the two stood side by side. None: no peer."""
    def by_round(wanted):
        return {row.get("round", 0): row[figure] for row in rows
                if figure in row and all(row.get(key) == value for key, value in wanted.items())}
    mine, others = by_round({"program": "esp-verbs", **ours}), by_round(theirs)
    ratios = [mine[number] / others[number] for number in mine.keys() & others.keys()]
    return statistics.median(ratios) if ratios else None


def verdict(ratio, good):
    return f"{ratio:.2f}" + ("" if good else MISSED)


def aims(lines):
    """How many cells with an aim meet it."""
    text = "\n".join(lines)
    missed = text.count(MISSED)
    met = len(re.findall(r"\| \d+\.\d\d (?=\|)", text))
    return f"Aims met in {met} of {met + missed} cells."


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header),
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def latency_table(rows):
    """Ratios of medians, and of the shortest of all launches, which others disturb least."""
    lines = []
    cells = sorted({(row["over"], row["bytes"]) for row in rows if row.get("task") == "latency"})
    for over, size in cells:
        same = {"task": "latency", "over": over, "bytes": size}
        ours = median(rows, "median_us", program="esp-verbs", **same)
        tail = median(rows, "p99_us", program="esp-verbs", **same)
        line = [over.upper(), size_text(size), f"{ours:.1f}", f"{tail:.1f}"]
        for peer in ("ib_send_lat", "ib_write_lat"):
            theirs = median(rows, "median_us", program=peer, **same)
            if theirs is None:
                line += ["-", "-", "-"]
                continue
            shortest = [min(row["min_us"] for row in rows if row["program"] == program and
                            all(row.get(key) == value for key, value in same.items()))
                        for program in ("esp-verbs", peer)]
            ratio = ratio_of(rows, "median_us", {"program": peer, **same}, **same)
            line += [f"{theirs:.1f}", verdict(ratio, ratio <= LATENCY_MAX),
                     f"{shortest[0]:.1f} / {shortest[1]:.1f} = {shortest[0] / shortest[1]:.2f}"]
        lines.append(line)
    return table(["over", "bytes", "esp-verbs, us", "its p99", "ib_send_lat, us", "ratio",
                  "shortest", "ib_write_lat, us", "ratio", "shortest"], lines)


def bandwidth_table(rows):
    lines = []
    cells = sorted({(row["over"], row["memory"], row["bytes"]) for row in rows
                    if row.get("task") == "bandwidth" and row["program"] == "esp-verbs"})
    for over, memory, size in cells:
        ours = median(rows, "mib_per_s", program="esp-verbs", over=over, memory=memory, bytes=size)
        line = [over.upper(), memory, size_text(size), f"{ours:.1f}"]
        for peer in ("ib_send_bw", "ib_write_bw"):
            of_peer = {"program": peer, "task": "bandwidth", "over": over}
            if over == "rc":
                of_peer["bytes"] = size
            theirs = median(rows, "mib_per_s", **of_peer)
            if theirs is None:
                line += ["-", "-"]
                continue
            ratio = ratio_of(rows, "mib_per_s", of_peer, task="bandwidth", over=over,
                             memory=memory, bytes=size)
            line += [f"{theirs:.1f}", verdict(ratio, ratio >= BANDWIDTH_MIN)]
        lines.append(line)
    return table(["over", "memory", "bytes", "esp-verbs, MiB/s", "ib_send_bw", "ratio",
                  "ib_write_bw", "ratio"], lines)


def access_table(rows):
    """Puts and gets, one at a time (us) and in streams (MiB/s)."""
    lines = []
    cells = sorted({(row["task"], row["bytes"]) for row in rows
                    if row.get("task", "").startswith(("put", "get"))})
    for task, size in cells:
        stream = task.endswith("-stream")
        figure = "mib_per_s" if stream else "median_us"
        peer = {"get": "ib_read_lat", "get-stream": "ib_read_bw",
                "put-stream": "ib_write_bw"}.get(task)
        same = {"task": task, "bytes": size}
        ours = median(rows, figure, program="esp-verbs", **same)
        theirs = median(rows, figure, program=peer, **same)
        window = next(row["window"] for row in rows if row["program"] == "esp-verbs" and
                      all(row.get(key) == value for key, value in same.items()))
        line = [task.replace("-stream", "") + f", {window} at a time", size_text(size),
                f"{ours:.1f} {'MiB/s' if stream else 'us'}"]
        if theirs is None:
            lines.append([*line, "-", "-"])
            continue
        ratio = ratio_of(rows, figure, {"program": peer, **same}, **same)
        good = ratio >= BANDWIDTH_MIN if stream else ratio <= LATENCY_MAX
        lines.append([*line, f"{peer}: {theirs:.1f}", verdict(ratio, good)])
    return table(["operation", "bytes", "esp-verbs", "perftest", "ratio"], lines)


def late_table(rows):
    """Large messages whose receives are late."""
    lines = []
    ours = [row for row in rows if row.get("task") == "late"]
    for size in sorted({row["bytes"] for row in ours}):
        read, sent = (median(ours, "mib_per_s", bytes=size, read=way) for way in (True, False))
        copied = [statistics.median(row["per_segment"]["copied_bytes"] for row in ours
                                    if row["bytes"] == size and row["read"] == way)
                  for way in (True, False)]
        lines.append([size_text(size), f"{read:.1f}", f"{sent:.1f}", f"{read / sent:.2f}",
                      f"{copied[0]:.0f} / {copied[1]:.0f}"])
    return table(["bytes", "read by the receiver, MiB/s", "sent, MiB/s", "ratio",
                  "bytes copied by the sender"], lines)


def least(task, side, over, memory, size):
    """The minimum of each count per segment: the payload without any header, nothing twice, and
    whatever can be shared with other segments of a stream (doorbells, completions, credits,
    announcements) for nothing. A segment that its receiver has announced is not copied."""
    if task.startswith(("put", "get")):  # of one at a time the end is a completion
        single = 0 if task.endswith("-stream") else 1
        return dict.fromkeys(COUNTS, 0) | {"sends": 1, "doorbells": single, "looks": single,
                                           "send_completions": single}
    operations = 1 if over == "rc" else -(-size // MTU)
    direct = memory in ("registered", "cached")
    announced = 1 if over == "rc" and direct and size >= PLACED_MIN else 0
    copied = 0 if announced else size
    sent, come = (0, operations) if side == "receiver" else (operations, 0)
    found = dict.fromkeys(COUNTS, 0)
    if task == "latency":  # a rank is both, and nothing is to be shared with
        sent = come = operations + announced
        found |= {"doorbells": 1 + announced, "looks": 1}
        copied *= 2
    return found | {"sends": sent, "packets": sent, "arrivals": come, "copied_bytes": copied}


def count_text(value, minimum):
    return (f"{value:.0f}" if value >= 100 else f"{value:.2f}") + f" ({minimum})"


def counts_table(rows):
    """Per segment, both sides: what a sender pays and what a receiver pays; minimum in brackets."""
    lines = []
    ours = [row for row in rows if row["program"] == "esp-verbs" and "per_segment" in row
            and row["task"] != "late"]
    cells = sorted({(row["task"], row["over"], row["memory"], row["bytes"]) for row in ours})
    for cell in cells:
        same = [row for row in ours
                if (row["task"], row["over"], row["memory"], row["bytes"]) == cell]
        sides = [("", "per_segment")] if cell[0] == "latency" else \
            [("sender", "per_segment"), ("receiver", "per_segment_peer")]
        if "per_segment_peer" not in same[0]:
            sides = [("origin", "per_segment")]
        for side, key in sides:
            line = [cell[0], side, cell[1].upper(), cell[2], size_text(cell[3])]
            minima = least(cell[0], side, *cell[1:])
            for count in COUNTS:
                value = statistics.median(row[key][count] for row in same)
                line.append(count_text(value, minima[count]))
            lines.append(line)
    return table(["task", "side", "over", "memory", "bytes", *(name.replace("_", " ")
                                                             for name in COUNTS)], lines)


def others(rows):
    first = [row["first_us"] for row in rows if row["program"] == "esp-verbs"
             and row.get("task") == "latency" and row["over"] == "rc" and row["bytes"] == 2]
    first = first or [row["first_us"] for row in rows if row.get("over") == "rc"
                      and "first_us" in row][:1]
    memory = next(row for row in rows if row.get("task") == "memory")
    return [f"- First frame to a new peer over RC, there and back, with the making of the "
            f"connection: {statistics.median(first) / 1e3:.2f} ms.",
            f"- Memory of a peer: RC {memory['rc_heap_bytes']} bytes of the heap and "
            f"{memory['rc_queue_bytes']} of the queue pair's buffers (and the UD peer's, for "
            f"letters); UD {memory['ud_heap_bytes']} bytes.", ""]


def markdown(found):
    rows, origin, place = found["rows"], found["origin"], found["place"]
    rounds = 1 + max(row.get("round", 0) for row in rows)
    compared = ["### Latency: half a round trip", "", *latency_table(rows),
                "### Bandwidth: a stream one way", "", *bandwidth_table(rows),
                "### Puts and gets by the adapter (RC)", "", *access_table(rows)]
    lines = [f"Source {origin['source']}, {origin['date']}; {origin['host_cpu']}, "
             f"{origin['host_cpus']} CPUs, Linux {origin['host_kernel']}; measured on "
             f"{place['cpus']} CPUs, Linux {place['kernel']}; perftest {place['perftest']}.", "",
             f"Medians over {rounds} launches of each, which took turns in one guest; a ratio is "
             "the median of those of the rounds.", "", aims(compared), "", *compared,
             "### Messages whose receives are late (RC, registered)", "", *late_table(rows),
             "### Counts per segment, and their minimum", "", *counts_table(rows),
             "### Making a connection, and memory", "", *others(rows)]
    return "\n".join(lines)
