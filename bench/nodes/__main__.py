"""Compares Espalier with Open MPI and MPICH over TCP between emulated nodes: bench/run.sh nodes.

Needs root (network namespaces) and ip(8). Launches are interleaved (A B C A B C ...). Standard
library only.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "driver"))

import cases  # noqa: E402
import costs  # noqa: E402
import launch  # noqa: E402
import launchers  # noqa: E402
import network  # noqa: E402
import rounds  # noqa: E402
import table  # noqa: E402
from launchers import Layout  # noqa: E402
from plan import BUFFERS, KIB  # noqa: E402
from progress import Progress  # noqa: E402

SKIPPED = 77  # as the tests: it cannot be done here


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.sh nodes",
                                     description=__doc__.splitlines()[0],
                                     epilog="Without options: every operation, about an hour.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=6, help="launches per library and case")
    parser.add_argument("--minutes", type=float, default=60.0,
                        help="no new round after this; the first one is always whole")
    parser.add_argument("--only", default=",".join(launchers.ALL), help="as espalier,mpich")
    parser.add_argument("--layouts", default="2x1,2x2,4x1,4x2", help="nodes x ranks per node")
    parser.add_argument("--ops", default=",".join(cases.OPS), help="all: %(default)s")
    parser.add_argument("--sizes", default="", help="bytes, in place of the usual ones")
    parser.add_argument("--buffers", default=",".join(BUFFERS),
                        help="rewritten: new data before each sample; reused: one for all calls, "
                        "as OSU's; a table of each (%(default)s)")
    parser.add_argument("--budget-ms", type=float, default=cases.BUDGET_MS,
                        help="per row of a launch")
    parser.add_argument("--no-costs", action="store_true", help="skip set-up, memory, start-up")
    parser.add_argument("--smoke", action="store_true", help="does it work at all; no results")
    parser.add_argument("--publish", action="store_true", help="write docs/results/nodes_tcp.*")
    args = parser.parse_args()
    args.only = args.only.split(",")
    args.ops = args.ops.split(",")
    args.buffers = args.buffers.split(",")
    for given, known, option in ((args.ops, cases.OPS, "--ops"),
                                 (args.buffers, BUFFERS, "--buffers"),
                                 (args.only, launchers.ALL, "--only")):  # fmt: skip
        for one in given:
            if one not in known:
                parser.error(f"{option} {one}: not one of {', '.join(known)}")
    try:
        args.sizes = [int(size) for size in args.sizes.split(",") if size]
        args.layouts = [Layout(*map(int, text.split("x"))) for text in args.layouts.split(",")]
    except (TypeError, ValueError):
        parser.error("--sizes are bytes, as 8,65536; --layouts nodes x ranks, as 2x1,4x2")
    if args.smoke:
        args.rounds, args.sizes, args.budget_ms = 1, [8, 64 * KIB], 2.0
    return args


def source_version() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def write(summary: dict, raw: dict, args) -> None:
    folder = args.build / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes_tcp.json").write_text(json.dumps({**summary, "raw": raw}, indent=1) + "\n")
    if args.publish:
        results = ROOT / "docs" / "results"
        (results / "nodes_tcp.json").write_text(json.dumps(summary, indent=1) + "\n")
        head = (pathlib.Path(__file__).parent / "report.md").read_text()
        tables = table.render(summary, markdown=True)
        (results / "nodes_tcp.md").write_text(head.replace("TABLES\n", tables))
        subprocess.run([sys.executable, ROOT / "scripts" / "pictures.py"], check=True)


def main() -> int:
    args = parse()
    launch.end_when_told()
    progress, missing = Progress(), []
    say = progress.say

    def leave_out(text: str) -> None:
        missing.append(text)
        say(text)

    libraries = launchers.find_libraries(args.build / "bin", args.only, leave_out)
    if not libraries:
        say("SKIP: nothing to measure")
        return SKIPPED
    planned = cases.make_cases(args.layouts, args.ops, args.sizes, args.buffers, args.budget_ms)
    if not planned:
        say(f"none of {', '.join(args.ops)} on these layouts: point to point is of two ranks, 2x1")
        return 2
    args.sizes = cases.sizes_of(planned)
    try:
        with network.Nodes(max(layout.nodes for layout in args.layouts)) as nodes:
            comparison = rounds.Comparison(args, planned, libraries, nodes, progress)
            progress("sockets, connections, memory, start-up")
            found = {} if args.no_costs else costs.measure(comparison, args, say)
            comparison.run()
            progress("")
    except network.NoNodes as reason:
        say(f"SKIP: {reason}")
        return SKIPPED
    summary = table.summarize(comparison.launches, comparison.cores, found)
    summary |= {"source": source_version(), "failures": comparison.failures, "costs": found,
                "repeated": comparison.repeated, "rounds": comparison.rounds_text(),
                "left_out": comparison.left_out(), "missing": missing}  # fmt: skip
    raw = {str(case): of for case, of in comparison.launches.items()}
    write(summary, raw, args)
    print(table.render(summary, markdown=False), end="")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
