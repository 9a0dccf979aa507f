"""How the process gets memory: an analysis makes and drops hundreds of large arrays."""

from __future__ import annotations

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # from malloc.h of the GNU C library
_KEPT_BYTES = 2_000_000_000


def reuse_freed_memory() -> None:
    """Let malloc hand freed arrays to the next one instead of to the kernel, which has to clear every page anew.

    Takes a quarter of the processor time from large traces. Does nothing where the C library knows no `mallopt`. To be
    called before numpy is imported: huge pages would be cleared whole for arrays that live for milliseconds.
    """
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_ARENA_MAX, 1)
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
