"""What a network costs besides time per call: plain sockets, connections, memory, start-up."""

import statistics

import launch
from launchers import OURS, Layout

PAIR = Layout(2, 1)
EMULATED = 64  # nodes of the start-up
CROWD = 17  # ranks on one machine, all by TCP: 16 peers of rank 0
# All ranks of one machine by TCP, without namespaces.
BY_TCP = {
    "openmpi": ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"],
    "mpich": ["-genv", "MPIR_CVAR_NOLOCAL", "1", "-genv", "UCX_TLS", "tcp,self",
              "-genv", "UCX_NET_DEVICES", "lo"],
}


def _here(library, bin_dir, ranks: int, args: list) -> list:
    """A launch on this machine in which every rank reaches every other by TCP."""
    if library.name == OURS:
        start = [bin_dir / "esp-run", "-n", ranks, "--nodes", ranks]
    elif library.name == "mpich":
        start = [library.launcher, *BY_TCP["mpich"], "-n", ranks]
    else:
        start = [library.launcher, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                 "--mca", "mpi_yield_when_idle", "1", *BY_TCP["openmpi"], "-n", ranks]  # fmt: skip
    return [*start, library.program, *args]


def _attempt(found: dict, name: str, measure, say) -> None:
    try:
        found[name] = measure()
    except launch.LaunchError as error:
        say(f"{name}: {error}")
        found[name] = {"error": str(error)}


def sockets(comparison, library, sizes: list) -> dict:
    """{"socket", "stream", "work": {size: us}}: half a round trip of a plain socket; one of many
    messages in one direction; both the lower of sleeping and spinning; and the processor time that
    the two ends of the latter take."""
    args = ["sockets", "--bytes", ",".join(map(str, sizes)), "--budget-ms", 20]
    best = {"socket": {}, "stream": {}, "work": {}}
    for _ in range(3):
        command = library.command(comparison.nodes, PAIR, comparison.cores, library.program, args)
        for floor in launch.run_json(command, 60.0)["floors"]:
            of, size = best[floor["name"].split("-")[0]], floor["bytes"]
            of[size] = min(of.get(size, floor["median_us"]), floor["median_us"])
    return best


def point_to_point(comparison, library, sizes: list, rounds: int) -> dict:
    """{operation: {size: us}}: the best launch, as for the floor beside it."""
    args = ["--op", "p2p-latency,p2p-bandwidth", "--bytes", ",".join(map(str, sizes)),
            "--budget-ms", 30]  # fmt: skip
    found = {"p2p-latency": {}, "p2p-bandwidth": {}}
    for _ in range(rounds):
        command = library.command(comparison.nodes, PAIR, comparison.cores, library.program, args)
        for row in launch.run_json(command, 120.0)["rows"]:
            of = found[row["op"]]
            of[row["bytes"]] = min(of.get(row["bytes"], row["median_us"]), row["median_us"])
    return found


def first_exchange(comparison, library, rounds: int) -> dict:
    """The first exchange with a peer between two nodes, and later ones, in us."""
    launches = []
    for _ in range(rounds):
        command = library.command(comparison.nodes, PAIR, comparison.cores, library.program,
                                  ["peers"])  # fmt: skip
        launches.append(launch.run_json(command, 60.0)["peers"])
    return {
        key: statistics.median(one[key][0] for one in launches) for key in ("first_us", "later_us")
    }


def memory(library, bin_dir, ranks: int) -> dict:
    """Resident KiB of rank 0 per peer that it has talked to. MPICH 4.0.2 may hang in the end."""
    result = launch.run_json(_here(library, bin_dir, ranks, ["peers"]), 30.0)["peers"]
    before, after = result["rss_kib"]
    return {"peers": ranks - 1, "kib_per_peer": (after - before) / (ranks - 1)}


def start_up(library, bin_dir, ranks: int, repeats: int) -> dict:
    """Seconds of joining a job and leaving it."""
    command = _here(library, bin_dir, ranks, ["init"])
    seconds = statistics.median(launch.run(command, 120.0)[0] for _ in range(repeats))
    return {"ranks": ranks, "seconds": seconds}


def measure(comparison, args, say) -> dict:
    rounds = 1 if args.smoke else 5
    crowd, emulated = (3, 4) if args.smoke else (CROWD, EMULATED)
    bin_dir = args.build / "bin"
    found = {"floor": {}, "p2p": {}, "first": {}, "memory": {}, "startup": {}}
    libraries = [x for x in comparison.libraries if x.name != "openmpi-han"]
    _attempt(found, "floor", lambda: sockets(comparison, libraries[0], args.sizes), say)
    for x in libraries:
        _attempt(found["p2p"], x.name,
                 lambda: point_to_point(comparison, x, args.sizes, rounds), say)
        _attempt(found["first"], x.name, lambda: first_exchange(comparison, x, rounds), say)
        _attempt(found["memory"], x.name, lambda: memory(x, bin_dir, crowd), say)
        _attempt(found["startup"], x.name,
                 lambda: start_up(x, bin_dir, emulated, 1 if args.smoke else 3), say)  # fmt: skip
        comparison.nodes.clear()
    return found
