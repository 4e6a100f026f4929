"""N emulated nodes: network namespaces that hang on one bridge, and nothing of them left behind.

The bridge has a namespace of its own, so the machine's own network is not touched. Every node has
a host name of its own, too (by the agent), because libraries tell nodes apart by it, and one core,
shared with others where there are more nodes than cores. Who shares a core with whom favours one
tree or another, so the nodes can be dealt out in several ways.

Inside, TCP uses Reno's congestion control: Cubic, the usual one, cannot be chosen there, and BBR,
which some machines have instead, made large messages take two to three times as long, launch by
launch.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

SUBNET = "10.77.0"
PREFIX = f"{SUBNET}.0/24"

# Launchers call it as they would call ssh: [options] host command. A command is one string for a
# shell (Open MPI) or words (MPICH); as with ssh they are joined.
AGENT = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
node=${1##*.}
shift
cores=(CORES)  # by node
exec taskset -c "${cores[node - 1]}" \\
  ip netns exec TAG-$node unshare --uts -- bash -c \\
  'hostname "$1"; shift; eval "$*"' agent "TAG-$node" "$@"
"""


class NoNodes(Exception):
    """Why there are no namespaces here."""


def _ip(*words) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise NoNodes(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Nodes:
    """A context: inside it the nodes exist."""

    def __init__(self, count: int):
        self.count = count
        self.tag = f"esp{os.getpid()}"
        self.switch = f"{self.tag}-sw"
        self._folder = None

    def __enter__(self):
        if os.geteuid() != 0:
            raise NoNodes("network namespaces need root")
        for tool in ("ip", "unshare", "hostname", "taskset"):
            if shutil.which(tool) is None:
                raise NoNodes(f"no command {tool} (packages iproute2, util-linux, hostname)")
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="esp-nodes-")
        self.agent = pathlib.Path(self._folder.name) / "agent"
        self.deal(0, self.count)
        self.agent.chmod(0o755)
        _ip("netns", "add", self.switch)
        _ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self.switch, "link", "set", "bridge", "up")
        for node in range(1, self.count + 1):
            name = self.name(node)
            _ip("netns", "add", name)
            _ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name",
                f"port{node}", "netns", self.switch)  # fmt: skip
            _ip("-n", self.switch, "link", "set", f"port{node}", "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
            reno = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
            _ip("netns", "exec", name, "sh", "-c", reno)

    def __exit__(self, *_):
        for name in [self.name(node) for node in range(1, self.count + 1)] + [self.switch]:
            if name in _namespaces():
                end_processes(name)
                subprocess.run(["ip", "netns", "del", name], capture_output=True)
        if self._folder is not None:
            self._folder.cleanup()

    def deal(self, way: int, used: int) -> int:
        """Deals the first `used` nodes out to the cores in turn, after all but the first have moved
        up by `way`: with 4 nodes and 2 cores ways 0 to 2 are all pairings. Returns the way, which
        is the same again after a while."""
        cores = sorted(os.sched_getaffinity(0))
        others = list(range(2, used + 1))
        shift = way % max(len(others), 1) if used > len(cores) else 0
        order = [1, *others[shift:], *others[:shift], *range(used + 1, self.count + 1)]
        of_node = {node: cores[i % len(cores)] for i, node in enumerate(order)}
        dealt = " ".join(str(of_node[node]) for node in range(1, self.count + 1))
        self.agent.write_text(AGENT.replace("TAG", self.tag).replace("CORES", dealt))
        return shift

    def name(self, node: int) -> str:
        return f"{self.tag}-{node}"

    @staticmethod
    def address(node: int) -> str:
        return f"{SUBNET}.{node}"

    def addresses(self) -> list:
        return [self.address(node) for node in range(1, self.count + 1)]

    def inside(self, node: int, command: list) -> list:
        """The command, run on a node."""
        return [str(self.agent), self.address(node), *map(str, command)]

    def clear(self) -> None:
        """Ends what a failed launch has left on the nodes."""
        for node in range(1, self.count + 1):
            end_processes(self.name(node))


def _namespaces() -> set:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line}


def end_processes(name: str) -> None:
    """All in this namespace, by their ids."""
    for _ in range(50):
        found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
        pids = [int(pid) for pid in found.stdout.split()]
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
