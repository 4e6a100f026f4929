"""The comparison as text and as Markdown: the same lines, with different rules between them."""

import datetime

import aims
import analysis
from plan import BUFFERS


def human_size(size: int) -> str:
    if size == 0:
        return "-"
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def number(value) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def table(header: list, rows: list, markdown: bool) -> list:
    if markdown:
        lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
        return lines + ["| " + " | ".join(row) + " |" for row in rows]
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    return ["  ".join(f"{text:>{w}}" for text, w in zip(line, widths)) for line in [header, *rows]]


def left_out_lines(left_out: list) -> list:
    """Which libraries have less than was planned, and why."""
    return [line for one in left_out
            for line in ("", f"Left out: {one['library']}, {one['ops']}: {one['why']}.")]


def comparison_lines(cells: list, libraries: list, ours: str, markdown: bool, left_out=()) -> list:
    lines = []
    for buffers, ranks in sorted(
        {(cell["buffers"], cell["ranks"]) for cell in cells},
        key=lambda table: (BUFFERS.index(table[0]), table[1]),
    ):
        mine = [cell for cell in cells if (cell["buffers"], cell["ranks"]) == (buffers, ranks)]
        tags = ", ".join(sorted({cell["distance"] for cell in mine}))
        title = f"{ranks} ranks, us per call (CPUs: {tags})"
        if buffers != BUFFERS[0]:
            title += ", buffers reused"
        lines += ["", f"{'### ' if markdown else ''}{title}", ""]
        shown = [name for name in libraries if any(name in cell["us"] for cell in mine)]
        header = ["operation", "size", *shown]
        header += ["best peer", "ratio", "target", "floor", "x floor", ""]
        rows = []
        for cell in mine:
            time, floor = cell["us"].get(ours), cell["floor_us"]
            rows.append([
                cell["op"], human_size(cell["bytes"]),
                *(number(cell["us"].get(name)) for name in shown),
                cell["best_peer"] or "-", number(cell["ratio"]), number(cell["target_ratio"]),
                number(floor), number(time / floor if time and floor else None), cell["verdict"],
            ])  # fmt: skip
        lines += table(header, rows, markdown)
        lines += ["", f"All: {aims.line(mine, ours, ranks, human_size)}"]
        here = [x for x in left_out if (x["buffers"], x["ranks"]) == (buffers, ranks)]
        lines += left_out_lines(here)
    return lines


def shortfall_lines(cells: list, ours: str, markdown: bool) -> list:
    rows = []
    for cell in cells:
        reason = analysis.shortfall(cell, ours)
        if reason:
            rows.append([str(cell["ranks"]), cell["op"], human_size(cell["bytes"]),
                         number(cell["ratio"]), number(cell["target_ratio"]), reason])  # fmt: skip
    if not rows:
        return []
    title = ["", f"{'### ' if markdown else ''}Short of the target", ""]
    return title + table(["ranks", "operation", "size", "ratio", "target", ""], rows, markdown)


def floor_lines(floors: list, markdown: bool) -> list:
    header = ["floor", "size", "median us", "GB/s", "note"]
    rows = []
    for floor in floors:
        known = floor["samples"] > 0
        rate = floor["bytes"] / floor["median_us"] / 1e3 if known and floor["bytes"] else None
        rows.append([floor["name"], human_size(floor["bytes"]),
                     f"{floor['median_us']:.3f}" if known else "-", number(rate),
                     floor["note"]])  # fmt: skip
    title = ["", f"{'### ' if markdown else ''}Floors of this machine", ""]
    return title + table(header, rows, markdown)


def resource_lines(found: dict, markdown: bool) -> list:
    def cells(entry, keys):
        if "error" in entry:
            return [entry["error"][:60]] + ["-"] * (len(keys) - 1)
        return [number(entry[key]) for key in keys]

    tables = [
        ("startup", "Start-up, seconds (of nothing; of joining and leaving)", ["true_s", "init_s"]),
        ("memory", "Resident memory of the largest rank, MiB",
         ["joined_rss_mib", "used_rss_mib", "used_pss_mib"]),
        ("idle", "CPU of a rank that waits in a barrier, ms per second", ["cpu_ms_per_s"]),
    ]  # fmt: skip
    lines = []
    for kind, title, keys in tables:
        if not found.get(kind):
            continue
        rows = [[e["library"], str(e["ranks"]), *cells(e, keys)] for e in found[kind]]
        lines += ["", ("### " if markdown else "") + title, ""]
        lines += table(["library", "ranks", *keys], rows, markdown)
    return lines


def header_lines(summary: dict, markdown: bool) -> list:
    host = summary["host"]
    lines = [
        f"{'# ' if markdown else ''}Comparison on {host['cpu_model']}",
        "",
        f"{host['cpus']} CPUs, {host['kernel']}, {summary['date']}, source {summary['source']}. "
        f"{summary['launches']} launches, {summary['dirty']} of them disturbed by other tenants"
        f" ({summary['retried']} retried), {summary['failed']} failed; {summary['rounds']}.",
        "Medians over launches of the median per launch. ratio = ours / best peer; hit: at or below"
        " the target ratio; ahead: better than the best peer; x floor = ours / floor. Buffers are"
        " rewritten before each sample, or reused for all calls, as in the OSU benchmarks.",
    ]
    if 2 * summary["dirty"] > summary["launches"]:
        lines += ["", "THE MACHINE WAS BUSY: most launches were disturbed; do not quote this."]
    bullet = "- " if markdown else ""
    lines += ["", *(f"{bullet}{name}: {text}" for name, text in summary["libraries"].items())]
    return lines + [f"{bullet}{text}" for text in summary["missing"]]


def totals_line(cells: list) -> str:
    count = {word: sum(c["verdict"] == word for c in cells) for word in ("hit", "ahead", "MISS")}
    return f"{count['hit']} hits, {count['ahead']} ahead of the best peer, {count['MISS']} misses"


def render(summary: dict, ours: str, markdown: bool) -> str:
    lines = header_lines(summary, markdown)
    lines += comparison_lines(summary["cells"], list(summary["libraries"]), ours, markdown,
                              summary["left_out"])  # fmt: skip
    aimed = [cell for cell in summary["cells"] if cell["buffers"] == BUFFERS[0]]
    lines += ["", totals_line(aimed)]
    lines += shortfall_lines(aimed, ours, markdown)
    lines += floor_lines(summary["floors"], markdown)
    lines += resource_lines(summary["resources"], markdown)
    for failure in summary["failures"]:
        lines += ["", f"failed: {failure}"]
    return "\n".join(lines) + "\n"


def today() -> str:
    return datetime.date.today().isoformat()
