"""Start-up time, resident memory and CPU of waiting ranks, for each launcher and library."""

import statistics

import launch

SMALL = 2
CROWD = 16
PEER_START_MAX = 16  # peers spin from the first instant; more ranks only burn time


def _seconds(command: list, repeats: int, limit_s: float):
    return statistics.median(launch.run(command, limit_s)[0] for _ in range(repeats))


def startup(backend, ranks: int, cores: int, repeats: int) -> dict:
    """Seconds to start and end `ranks` processes: of /bin/true, and of joining and leaving."""
    limit_s = 60.0 + ranks
    nothing = backend.command(ranks, cores, "/bin/true", [])
    init = backend.command(ranks, cores, str(backend.program), ["init"])
    return {
        "library": backend.name,
        "ranks": ranks,
        "true_s": _seconds(nothing, repeats, limit_s),
        "init_s": _seconds(init, repeats, limit_s),
    }


def memory(backend, ranks: int, cores: int) -> dict:
    """MiB of the largest rank, resident and proportional: when joined, after 1 MiB calls."""
    command = backend.command(ranks, cores, str(backend.program), ["memory"])
    stages = launch.run_json(command, 60.0 + 4 * ranks)["memory"]
    last, joined = stages[-1], stages[1]
    return {
        "library": backend.name,
        "ranks": ranks,
        "joined_rss_mib": max(joined["rss_kib"]) / 1024,
        "used_rss_mib": max(last["rss_kib"]) / 1024,
        "used_pss_mib": max(last["pss_kib"]) / 1024,
    }


def idle(backend, ranks: int, cores: int, seconds: float) -> dict:
    """CPU ms per second of waiting: the busiest of the ranks that wait in a barrier."""
    args = ["idle", "--seconds", str(seconds)]
    command = backend.command(ranks, cores, str(backend.program), args)
    result = launch.run_json(command, 60.0 + 4 * ranks)["idle"]
    waiters = [
        cpu / max(waited, 1e-9)
        for rank, (cpu, waited) in enumerate(zip(result["cpu_ms"], result["waited_s"]))
        if rank != result["sleeper"]
    ]
    return {"library": backend.name, "ranks": ranks, "cpu_ms_per_s": max(waiters)}


def measure(backends: list, plan, cores: int, ours: str, progress) -> dict:
    found = {"startup": [], "memory": [], "idle": []}

    def attempt(kind, name, ranks, measure_one):
        progress(f"{kind}, {name}, {ranks} ranks")
        try:
            found[kind].append(measure_one())
        except launch.LaunchError as error:
            found[kind].append({"library": name, "ranks": ranks, "error": str(error)})

    for backend in backends:
        if backend.only_crowded:
            continue
        for ranks in plan.startup_ranks:
            if backend.name == ours or ranks <= PEER_START_MAX:
                attempt("startup", backend.name, ranks,
                        lambda: startup(backend, ranks, cores, plan.startup_repeats))  # fmt: skip
        for ranks in (SMALL, CROWD) if plan.rounds > 1 else (SMALL,):
            attempt("memory", backend.name, ranks, lambda: memory(backend, ranks, cores))
            attempt("idle", backend.name, ranks, lambda: idle(backend, ranks, cores, plan.idle_s))
    return found
