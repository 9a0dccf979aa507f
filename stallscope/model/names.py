"""Interned strings of a trace: tables hold small integers, text is looked at once per distinct name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]


class Names:
    """Distinct strings of one trace; a `name` column of a table indexes into it. Id 0 is the empty string."""

    def __init__(self, texts: Iterable[str] = ("",)) -> None:
        self._texts = tuple(texts) or ("",)
        self._masks: dict[str, BoolArray] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __getitem__(self, name: SupportsIndex) -> str:
        return self._texts[name]

    def matching(self, pattern: str) -> BoolArray:
        """One flag a distinct name: does the regular expression match (`re.search`)? Index it with a name column."""
        mask = self._masks.get(pattern)
        if mask is None:
            search = re.compile(pattern).search
            mask = np.fromiter((search(text) is not None for text in self._texts), np.bool_, len(self._texts))
            self._masks[pattern] = mask
        return mask
