"""Seeded damage to a file: what terminals, editors, disks and half-finished copies do to exports."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Mutation = Callable[[bytes, Random], bytes]


def _spot(data: bytes, random: Random) -> tuple[int, int]:
    at = random.randrange(len(data) + 1)
    return at, min(len(data), at + random.choice((1, 1, 2, 8, 64, 1024)))


def _flip(data: bytes, random: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(random.choice((1, 4, 32)) if damaged else 0):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def _delete(data: bytes, random: Random) -> bytes:
    start, end = _spot(data, random)
    return data[:start] + data[end:]


def _insert(data: bytes, random: Random) -> bytes:
    start, _ = _spot(data, random)
    return data[:start] + random.randbytes(random.choice((1, 3, 40))) + data[start:]


def _repeat(data: bytes, random: Random) -> bytes:
    start, end = _spot(data, random)
    return data[:end] + data[start:]


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _swap_lines(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def _drop_line(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    del lines[random.randrange(min(4, len(lines)))]
    return b"\n".join(lines)


def _replace(data: bytes, random: Random) -> bytes:
    old, new = random.choice(
        ((b'"', b""), (b",", b";"), (b".", b","), (b"\n", b"\r\n"), (b'""', b'"'), (b"%", b"percent"), (b"0", b"O"))
    )
    return data.replace(old, new)


def _token(data: bytes, random: Random) -> bytes:
    start, _ = _spot(data, random)
    token = random.choice(
        (b'"', b'""', b"\0", b"nan", b"1e999", b"-", b"\n", b"==PROF== x\n", b'"ID","Kernel Name"\n', b"\xff")
    )
    return data[:start] + token + data[start:]


def _utf16(data: bytes, random: Random) -> bytes:
    return data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-16-le", "utf-16-be")))


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _delete, _insert, _repeat, _cut, _swap_lines, _drop_line, _replace, _token, _utf16),
)


def mutate(data: bytes, seed: int) -> bytes:
    """One damaged copy of `data`: one to three mutations, the same for the same seed."""
    random = Random(seed)  # noqa: S311
    for _ in range(random.choice((1, 1, 2, 3))):
        data = random.choice(MUTATIONS)(data, random)
    return data
