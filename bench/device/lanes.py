"""What calls on memory of one device cost at least, from plain copies of the driver.

A small call: one copy to the host, the same call on memory of the host, one copy to the device. A
large one: bytes that must cross each lane, of all members together, by the rate of plain copies of
the largest size. `members` have their buffers on one device; `size` is that of a buffer, of an
allgather that of a block.
"""

import dataclasses

MOST_SMALL = 16 << 10
AIM_SMALL = 1.2


@dataclasses.dataclass(frozen=True)
class Bytes:
    """That cross the bus in either direction; and of the device's memory, where nothing goes by the
    host, half of what is read and written at least: a copy of a byte does both."""
    to_host: int
    to_device: int
    on_device: float


def bytes_of(op, members, size):
    everything = members * size
    return {
        "bcast": Bytes(size, everything - size, everything / 2),
        "reduce": Bytes(everything, size, (everything + size) / 2),
        "allreduce": Bytes(everything, everything, everything),
        "allgather": Bytes(everything, members * everything, (1 + members) * everything / 2),
        "p2p-latency": Bytes(size, size, size),
        "p2p-bandwidth": Bytes(size, size, size),
    }[op]


def copied(op, members, size):
    """Bytes of the copies of a small call: of one member to the host, of one to its device."""
    return size, size * members if op == "allgather" else size


class Floors:
    """Of the floors that `esp-bench floors --alloc device` has found."""

    def __init__(self, floors):
        self.us = {(floor["name"], floor["bytes"]): floor["median_us"] for floor in floors}
        self.sizes = sorted({size for _, size in self.us})

    def copy(self, name, size):
        """Microseconds of a plain copy; between two sizes that were measured, in proportion."""
        above = next((one for one in self.sizes if one >= size), self.sizes[-1])
        below = max((one for one in self.sizes if one <= above and one < size), default=above)
        if above == size or above == below:
            return self.us[name, above]
        share = (size - below) / (above - below)
        return self.us[name, below] + share * (self.us[name, above] - self.us[name, below])

    def rate(self, name):
        """Bytes per microsecond; of both ways at once, in each."""
        return self.sizes[-1] / self.us[name, self.sizes[-1]]

    def staged(self, op, members, size, on_host_us):
        """A small call by one copy each way and the same call on the host."""
        out, back = copied(op, members, size)
        return self.copy("to-host", out) + on_host_us + self.copy("to-device", back)

    def by_bus(self, op, members, size):
        moved = bytes_of(op, members, size)
        both = min(moved.to_host, moved.to_device)
        return max(moved.to_host / self.rate("to-host"), moved.to_device / self.rate("to-device"),
                   both / self.rate("both-ways"))

    def on_device(self, op, members, size):
        return bytes_of(op, members, size).on_device / self.rate("on-device")
