"""The alltoall itself: the library's choice, and other ways and rules."""

from grids import K, RANKS, SHOWN, between, size, table, time, times

SECTION = "exchange"
SIZES = [8, 64, 256, 1 * K, 4 * K, 16 * K, 64 * K, 256 * K]
SHORT, MEDIUM = 256, 32 * K  # MPICH's limits of Bruck, and of all at once


def grids():
    yield {"ranks": RANKS, "operation": "alltoall", "bytes": SIZES,
           "algorithm": ["auto", "bruck", "ring"]}
    # Step by step: the next exchange begins when the one before is complete.
    yield {"ranks": RANKS, "operation": "alltoall", "bytes": SIZES, "algorithm": "xor",
           "variant": "blocking"}


def us(figures, ranks, bytes_, algorithm):
    return figures.get(SECTION, ranks=ranks, bytes=bytes_, algorithm=algorithm)["us"]


def of_mpich(figures, ranks, bytes_):
    name = "bruck" if bytes_ <= SHORT else "ring" if bytes_ <= MEDIUM else "xor"
    return us(figures, ranks, bytes_, name)


def claims(figures):
    def over(ranks, sizes, other):
        return between([us(figures, p, b, other) / us(figures, p, b, "auto")
                        for p in ranks for b in sizes])
    large = [b for b in SIZES if b > 4 * K]
    many = [p for p in RANKS if p >= 64]
    return [["alltoall above 4 KiB, over a baseline, 8 ranks", "2 times",
             f"over pairwise steps {over([8], large, 'xor')}"],
            ["the same, 64 ranks and more", "2 to 9.3 times",
             f"over pairwise steps {over(many, large, 'xor')}"],
            ["alltoall of up to 256 B, 64 to 256 ranks, Bruck over a baseline", "1.2 to 2 times",
             f"the library over all at once {over(many, [8, 64, 256], 'ring')}, "
             f"over pairwise steps {over(many, [8, 64, 256], 'xor')}"]]


def tables(figures):
    rows = [[ranks, size(bytes_),
             *(time(us(figures, ranks, bytes_, name)) for name in ("auto", "bruck", "ring", "xor")),
             times(of_mpich(figures, ranks, bytes_) / us(figures, ranks, bytes_, "auto"))]
            for ranks in SHOWN for bytes_ in SIZES]
    return table(["ranks", "block", "the library", "Bruck", "all at once", "pairwise steps",
                  "MPICH's rule over the library"], rows)
