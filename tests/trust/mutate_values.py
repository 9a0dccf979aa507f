"""Values that no profiler writes but a damaged or hostile file may hold."""

from __future__ import annotations

from random import Random

INTEGERS = (
    *(0, 1, -1, 2, 7, 127, 128, 255, 256, 65_535, 65_536),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), -(2**31)),
)
TEXTS = (
    *("", " ", "x", "0", "-1", "1e999", "nan", "NULL", "'; DROP TABLE StringIds; --", "\x1b]0;title\x07\x1b[2J"),
    *("\u202eevil", "a" * 5000, "/etc/passwd", "../../x", "{" * 300, "%s%n", "核\U0001f600", "a\0b", "ncclDevKernel"),
    *("cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000", "cudaMemcpy", "cudaMalloc", "cudaDeviceSynchronize"),
)
FLOATS = (0.0, -0.5, 1e308, -1e308, 1e18, 9.3e18, float("inf"))
BLOBS = (b"", b"\xff\xfe", b"\0" * 64, b"\x80" * 3000)


def integer(random: Random) -> int:
    """An edge of some integer type, or near one of a timeline's."""
    return random.choice(INTEGERS) if random.random() < 0.7 else random.randrange(-50, 5000)


def value(random: Random) -> int | float | str | bytes | None:
    """Any value a cell can hold."""
    kind = random.random()
    if kind < 0.55:
        return integer(random)
    if kind < 0.65:
        return None
    if kind < 0.8:
        return random.choice(TEXTS)
    return random.choice(FLOATS) if kind < 0.9 else random.choice(BLOBS)
