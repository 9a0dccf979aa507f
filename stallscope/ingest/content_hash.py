"""Hashes of what files hold."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

_DIGEST_BYTES = 20


def content_sha256(paths: list[Path]) -> str:
    """SHA-256 of one file's bytes; of several files, of their names and hashes."""
    if len(paths) == 1:
        return _of_bytes(paths[0], hashlib.sha256())
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path.name}\0{_of_bytes(path, hashlib.sha256())}\n".encode())
    return whole.hexdigest()


def blake2(path: Path) -> str:
    """BLAKE2b of one file's bytes: faster where the processor does not compute SHA-256 itself."""
    return _of_bytes(path, hashlib.blake2b(digest_size=_DIGEST_BYTES))


def _of_bytes(path: Path, digest: Any) -> str:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    found: str = digest.hexdigest()
    return found
