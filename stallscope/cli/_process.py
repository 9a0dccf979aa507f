"""How the process of a long command gets memory, looks for what is free, and starts threads."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # from malloc.h of the GNU C library
_KEPT_BYTES = 2_000_000_000
_NEW_OBJECTS = 100_000


def reuse_freed_memory() -> None:
    """Let malloc hand freed arrays to the next one instead of to the kernel, which has to clear every page anew.

    Takes a quarter of the processor time from large traces. Does nothing where the C library knows no `mallopt`. numpy
    asks for huge pages itself: as freed arrays are used again, each is cleared once, with a fault for 512 small ones.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_ARENA_MAX, 1)
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def seldom_collect() -> None:
    """Look for unreachable cycles a hundred times less often than Python does.

    The libraries bring tens of thousands of objects that stay; going through them again and again takes a twentieth of
    an analysis, of a small trace and of one with a million kernels. Arrays are freed by their reference counts.
    """
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # the interpreter looks at everything once more before it ends


def without_algebra_threads() -> None:
    """Keep numpy's linear algebra from starting a thread a core, which spin for a while and are never asked.

    Has no effect once numpy is imported, nor where the user chose a number.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
