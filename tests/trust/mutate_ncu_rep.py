"""Structure-aware damage to `.ncu-rep` files: fields, lengths, nesting, string table, block headers and raw bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

import ncu_mutations
from mutate_values import TEXTS, integer
from ncu_reports import Value, blob, device, estimate, kernel_result, number, report, sized, varint

Change = Callable[[bytes, Random], bytes]
METRICS = ("gpu__time_duration.sum", "launch__grid_size", "dram__bytes.sum", "a__b.sum", "smsp__inst_executed.sum", "x")


def template(seed: int) -> bytes:
    """A small whole report: a few kernels with metrics, ranges and rules, and a device."""
    random = Random(seed)  # noqa: S311
    names = random.sample(METRICS, random.randrange(1, len(METRICS) + 1))
    kernels = [_kernel(random, len(names), at) for at in range(random.choice((1, 2, 6)))]
    session = device({"compute_capability_major": 9, "display_name": random.choice(TEXTS[-5:])})
    return report(tuple(names), *kernels, session=session if random.random() < 0.8 else b"", ranges=len(kernels) % 2)


def _kernel(random: Random, names: int, at: int) -> bytes:
    metrics = {key: _value(random) for key in range(names)}
    rules = tuple(
        estimate(f"R{n}", random.choice((0, 1, 2, 7)), random.choice((5.0, -1.0, 1e300))) for n in range(at % 3)
    )
    return kernel_result(f"k{at}", metrics, rules=rules, ranges=("step", "layer")[: at % 3])


def _value(random: Random) -> Value:
    return random.choice((1, 0, 12.5, 1e9, float("nan"), "text", None, 1 << 62))


def mutate(whole: bytes, seed: int) -> bytes:
    """One damaged copy of a report; the same for the same seed."""
    random = Random(seed)  # noqa: S311
    for _ in range(random.choice((1, 1, 1, 2))):
        whole = random.choice(CHANGES)(whole, random)
    return whole


def _bytes(data: bytes, random: Random) -> bytes:
    return ncu_mutations.mutate(data, random.randrange(1 << 30))


def _fresh(_: bytes, random: Random) -> bytes:
    """Another report whose fields hold what no profiler writes."""
    kernels = [
        kernel_result(random.choice(TEXTS), {random.choice((0, 1, 99, 1 << 40)): _value(random)}) for _ in range(2)
    ]
    odd = random.choice((number(integer(random) % 64 + 1, integer(random) % (1 << 64)), blob(13, kernels[0]), b"\x0b"))
    return report(
        (random.choice(TEXTS), "x"), kernels[0] + odd, kernels[1], version=random.choice((7,) * 12 + (0, 8, 1 << 31))
    )


def _inside(_: bytes, random: Random) -> bytes:
    """Damage inside the messages, with sizes around it that fit."""
    kernels = [_kernel(random, 3, at) for at in range(3)]
    at = random.randrange(3)
    kernels[at] = random.choice((_flip, _flip, _varint, _length))(kernels[at], random)
    session = device({"compute_capability_major": 9, "x": _value(random)})
    return report(METRICS[:3], *kernels, session=_flip(session, random) if random.random() < 0.3 else session)


def _flip(data: bytes, random: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(random.choice((1, 1, 4))):
        damaged[random.randrange(len(damaged))] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
    return bytes(damaged)


def _length(data: bytes, random: Random) -> bytes:
    """A size that does not fit: of a block, a message or a field."""
    at = random.choice((4, random.randrange(max(1, len(data)))))
    size = random.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, len(data)))
    return data[:at] + struct.pack("<I", size) + data[at + 4 :]


def _varint(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    odd = random.choice((varint(integer(random) % (1 << 64)), b"\xff" * 10, b"\x80" * 40, b"\xff" * 9 + b"\x01"))
    return data[:at] + odd + data[at + random.choice((0, 1)) :]


def _nested(_: bytes, random: Random) -> bytes:
    """Messages in messages, deeper than any reader may recurse."""
    message = number(1, 5)
    for _ in range(random.choice((10, 100, 2_000))):
        message = blob(random.choice((2, 3, 13, 21)), message)
    return report(("x",), kernel_result("k", {0: 1}) + message, kernel_result("k", {0: 1}))


def _blocks(data: bytes, random: Random) -> bytes:
    """The blocks again, without an end, or between others."""
    rest = data[4:]
    return b"NVR\0" + random.choice((rest + rest, rest[:-1], sized(b"") + rest, sized(number(1, 7)) * 50, rest + b"\0"))


CHANGES: tuple[Change, ...] = (
    _bytes,
    _bytes,
    _inside,
    _inside,
    _inside,
    _fresh,
    _length,
    _length,
    _varint,
    _varint,
    _nested,
    _blocks,
)
