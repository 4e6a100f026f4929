"""The report of the noise experiment, from its figures."""

import pathlib
import statistics

from cells import ALIGNED, NOISES, OPERATIONS, VARIANTS, cell, slowdown

# The published slowdowns of ADAPT at 10 % noise.
PUBLISHED_AT_10 = {"bcast": 24, "reduce": 16}


def more(time, quiet):
    """How much slower, in percent."""
    return f"{100 * (time / quiet - 1):.0f} %"


def variants_table(figures, operation, noises=tuple(NOISES)):
    lines = ["| variant | 0 % | 5 % | 10 % | slower at 5 % | slower at 10 % |",
             "|---|---|---|---|---|---|"]
    for variant in VARIANTS:
        cells = [cell(figures, operation, variant, noise) for noise in noises]
        texts = [f"{median / 1e3:.2f} ms ({low / 1e3:.2f} to {high / 1e3:.2f})"
                 for median, low, high in cells]
        slower = [more(median, cells[0][0]) for median, _, _ in cells[1:]]
        lines.append(" | ".join(["| " + variant, *texts, *slower]) + " |")
    return lines


def floor_of(floors, machine, operation, noise, every, kind):
    """Slowdown of an ideal protocol, median over seeds; kind: apart or together."""
    cases = [one for one in floors if (one["machine"], one["operation"], one["noise"],
                                       one["noise_every"]) == (machine, operation, noise, every)]
    return more(statistics.median(one[f"{kind}_us"] for one in cases), cases[0]["quiet_us"])


def floor_lines(floors, machine, operation):
    lines = []
    for kind, text in (("apart", "floor, calls apart"), ("together", "floor, calls together")):
        slower = [floor_of(floors, machine, operation, noise, 1, kind) for noise in NOISES[1:]]
        lines.append(f"| {text} | | | | {slower[0]} | {slower[1]} |")
    return lines


def verdict(figures, operation, limit):
    event, waitall, blocking = (slowdown(figures, operation, variant) for variant in VARIANTS)
    order = "not the published order"
    if event < min(waitall, blocking):
        order = "event least, as published" + ("" if waitall < blocking else
                                               "; blocking is slow without noise already")
    bound = "" if limit is None else (
        f" Published for ADAPT: at most {limit} %; ours is {event:.0f} %.")
    return (f"At 10 %: event {event:.0f} %, waitall {waitall:.0f} %, blocking {blocking:.0f} % "
            f"slower: {order}.{bound}")


def simulated_sections(figures):
    lines = []
    for machine, ranks in sorted({(one["machine"], one["ranks"]) for one in figures["simulated"]}):
        some = [one for one in figures["simulated"]
                if (one["machine"], one["ranks"]) == (machine, ranks)]
        for operation in OPERATIONS:
            lines += ["", f"### {operation}, {ranks} ranks, {machine} (simulated)", ""]
            lines += variants_table(some, operation)
            lines += floor_lines(figures["floors"], machine, operation)
            lines += ["", verdict(some, operation, PUBLISHED_AT_10[operation]), "",
                      f"![{operation} on {machine}](noise-{machine}-{operation}.svg)"]
    return lines


def aligned_table(figures):
    """Detours of ranks apart, and together, side by side."""
    lines = ["| | variant | apart 5 % | apart 10 % | together 5 % | together 10 % |",
             "|---|---|---|---|---|---|"]
    for machine, ranks in sorted({(one["machine"], one["ranks"]) for one in figures["aligned"]}):
        for operation in OPERATIONS:
            place = f"{operation}, {ranks} ranks, {machine}"
            for variant in VARIANTS:
                texts = []
                for name, noises in (("simulated", NOISES), ("aligned", ALIGNED)):
                    some = [one for one in figures[name] if one["machine"] == machine]
                    quiet, *loud = (cell(some, operation, variant, noise)[0] for noise in noises)
                    texts += [more(time, quiet) for time in loud]
                lines.append(" | ".join([f"| {place}", variant, *texts]) + " |")
            for kind in ("apart", "together"):
                texts = [floor_of(figures[name], machine, operation, noise, 1, kind)
                         for name, noises in (("floors", NOISES), ("aligned_floors", ALIGNED))
                         for noise in noises[1:]]
                lines.append(" | ".join([f"| {place}", f"floor, calls {kind}", *texts]) + " |")
    return [*lines, "", aligned_verdict(figures["aligned"])]


def aligned_verdict(figures):
    texts = []
    for operation in OPERATIONS:
        slower = {}
        for machine in sorted({one["machine"] for one in figures}):
            some = [one for one in figures if one["machine"] == machine]
            slower[machine] = [slowdown(some, operation, v, tuple(ALIGNED)) for v in VARIANTS]
        every = [one for values in slower.values() for one in values]
        event = [f"{machine} {values[0]:.0f} %" for machine, values in slower.items()]
        texts.append(f"{operation}: event {', '.join(event)} (published: "
                     f"{PUBLISHED_AT_10[operation]} %), all variants {min(every):.0f} to "
                     f"{max(every):.0f} %")
    return "Together, slower at 10 %: " + "; ".join(texts) + "."


def few_table(figures):
    """Noise on some ranks only, beside what any protocol must lose."""
    head = [*VARIANTS, "floor, calls apart", "floor, calls together"]
    lines = ["| noise on | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    cori = [one for one in figures["simulated"] if one["machine"] == "cori"]
    quiet = {variant: cell(cori, "bcast", variant, "none")[0] for variant in VARIANTS}
    for every in sorted({one["every"] for one in figures["few"]}, reverse=True):
        times = {one["variant"]: one["us"] for one in figures["few"] if one["every"] == every}
        texts = [f"{times[v] / 1e3:.2f} ms, {more(times[v], quiet[v])} slower" for v in VARIANTS]
        texts += [floor_of(figures["floors"], "cori", "bcast", NOISES[2], every, kind)
                  for kind in ("apart", "together")]
        ranks = {32: "32 (the first of each node)"}.get(every, str(1024 // every))
        lines.append(" | ".join([f"| {ranks} of 1024 ranks", *texts]) + " |")
    return lines


def lookahead_table(figures):
    lines = ["| inside a node | windows N, M | segments without permission | calls | 0 % | 10 % | "
             "slower |", "|---|---|---|---|---|---|---|"]
    for one in figures["lookahead"]:
        if "floor" in one:
            floor = one["floor"]
            lines.append(f"| floor, calls apart | | | {floor['calls']} | "
                         f"{floor['quiet_us'] / 1e3:.2f} ms | {floor['apart_us'] / 1e3:.2f} ms | "
                         f"{more(floor['apart_us'], floor['quiet_us'])} |")
            continue
        quiet, loud = one["us"]
        eager = "all" if one["eager"] >= 64 else one["eager"]
        lines.append(f"| {one['carrier']} | {one['windows'][0]}, {one['windows'][1]} | {eager} | "
                     f"{one['calls']} | {quiet / 1e3:.2f} ms | {loud / 1e3:.2f} ms | "
                     f"{more(loud, quiet)} |")
    return lines


def real_sections(machines):
    lines = []
    for machine in machines:
        host, figures = machine["host"], machine["figures"]
        rounds = len(figures[0]["us"])
        lines += ["", f"### On {host['cores']} cores ({host['model']})", "",
                  f"{rounds} round{'s' if rounds > 1 else ''}; each cell as many calls as take "
                  f"{machine['seconds']:g} s without noise."]
        for ranks in sorted({one["ranks"] for one in figures}):
            some = [one for one in figures if one["ranks"] == ranks]
            for operation in OPERATIONS:
                lines += ["", f"#### {operation}, {ranks} ranks (measured)", ""]
                lines += variants_table(some, operation)
                lines += ["", verdict(some, operation, None)]
                if any(one["noise"] == ALIGNED[2] for one in some):
                    lines += ["", "Detours that begin together:", "",
                              *variants_table(some, operation, ALIGNED)]
    return lines


def report(figures):
    """noise.md as text."""
    text = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    parts = {"SIMULATED": simulated_sections, "ALIGNED": aligned_table, "FEW": few_table,
             "LOOKAHEAD": lookahead_table,
             "REAL": lambda all_figures: real_sections(all_figures["real"])}
    for mark, part in parts.items():
        needed = "aligned" if mark == "ALIGNED" else "simulated"
        lines = part(figures) if figures.get(needed) else []
        text = text.replace(f"@{mark}@", "\n".join(lines).strip() or "Not run yet.")
    return text
