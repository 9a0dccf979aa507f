"""How a class of time looks: every wait id belongs to a family with a letter, a pattern and two colours.

Colour is never the only sign: charts and tables repeat the family's letter, and strips carry its pattern. Colours
follow Okabe and Ito's palette, which stays apart under the common colour-vision deficiencies; work is muted, waits are
not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of time; `pattern` is a CSS class and a canvas pattern of the same name."""

    key: str
    label: str
    letter: str
    pattern: str
    dark: str
    light: str


FAMILIES: tuple[Family, ...] = (
    Family("work", "compute", "K", "solid", "#5b7a99", "#8aa4bf"),
    Family("memset", "memset", "M", "solid", "#7c8794", "#a9b3bf"),
    Family("copy", "copies", "C", "solid", "#56b4e9", "#3f9fd6"),
    Family("comm", "communication", "N", "dots", "#5a8fe0", "#2f6fc4"),
    Family("launch", "launch", "L", "diagonal", "#e69f00", "#e69f00"),
    Family("sync", "host sync", "S", "solid", "#e8743b", "#d55e00"),
    Family("alloc", "allocation", "A", "cross", "#d58ab3", "#cc79a7"),
    Family("uvm", "unified memory", "U", "backward", "#2bb38c", "#009e73"),
    Family("host", "host and input", "H", "vertical", "#e5d85c", "#d8c500"),
    Family("dep", "dependency", "D", "horizontal", "#9f8fe0", "#7a66c8"),
    Family("init", "first use", "I", "dots", "#b08a66", "#9c7248"),
    Family("kernel", "inside kernels", "P", "cross", "#4fb3bf", "#1d8995"),
    Family("env", "environment", "E", "horizontal", "#8d97a5", "#8d97a5"),
    Family("unknown", "unattributed", "?", "diagonal", "#6b7480", "#a3abb6"),
)

_BY_KEY = {family.key: family for family in FAMILIES}

_PREFIX = {
    "launch": "launch",
    "sync": "sync",
    "alloc": "alloc",
    "copy": "copy",
    "offload": "copy",
    "comm": "comm",
    "fence": "comm",
    "link": "comm",
    "uvm": "uvm",
    "host": "host",
    "input": "host",
    "dep": "dep",
    "init": "init",
    "kernel": "kernel",
    "pipe": "kernel",
    "env": "env",
    "ok": "work",
}

_WORK = {"ok.memset": "memset", "ok.copy_bound": "copy"}


def family(key: str) -> Family:
    """The family of that key. Raises `KeyError` for a key that is none."""
    return _BY_KEY[key]


def family_of(wait: str) -> Family:
    """Family of a wait id; ids this version does not know are unattributed rather than an error."""
    key = _WORK.get(wait) or _PREFIX.get(wait.partition(".")[0], "unknown")
    return _BY_KEY[key]


def is_wait(wait: str) -> bool:
    """Whether the id stands for waiting, as opposed to work the device did."""
    return not wait.startswith("ok.")
