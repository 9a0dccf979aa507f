"""What an export may tell strangers: allow-lists of tables, columns and metadata rows, and text without its author.

Everything that no list names stays behind, so a table or column of a future exporter is dropped, not leaked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_messages import public

STRING_IDS = frozenset({"nameId", "textId", "demangledName", "shortName", "mangledName"})
"""Columns whose StringIds are names of code: kernels, calls, ranges. Other references keep only their number."""

_ANYTHING = re.compile(r".*", re.DOTALL)
_UUID = re.compile(r"(?:GPU-|MIG-)?[\dA-Fa-f-]{0,40}")
TEXT_COLUMNS: dict[tuple[str, str], re.Pattern[str]] = {
    ("NVTX_EVENTS", "text"): _ANYTHING,
    ("DIAGNOSTIC_EVENT", "text"): _ANYTHING,
    ("TARGET_INFO_GPU", "name"): _ANYTHING,
    ("TARGET_INFO_GPU", "chipName"): re.compile(r"[A-Z]{1,3}\d{1,4}\w{0,4}"),
    ("TARGET_INFO_GPU", "busLocation"): re.compile(r"[\dA-Fa-f:.]{0,20}"),
    ("TARGET_INFO_GPU", "uuid"): _UUID,
    ("TARGET_INFO_CUDA_DEVICE", "uuid"): _UUID,
    ("TARGET_INFO_GPU_METRICS", "typeName"): _ANYTHING,
    ("TARGET_INFO_GPU_METRICS", "metricName"): _ANYTHING,
    ("TARGET_INFO_SESSION_START_TIME", "utcTime"): re.compile(r"[\d:T .+Z-]{0,40}"),
}
"""Text that travels, and what it must look like."""

MESSAGES = frozenset({("DIAGNOSTIC_EVENT", "text")})
"""Text of nsys itself, of which only nsys's own words travel."""
ENUM_TEXT = frozenset({"name", "label"})

_METADATA: dict[tuple[str, ...], re.Pattern[str]] = {
    schema.EXPORT_METADATA: re.compile(
        r"EXPORT_(PRODUCT_\w+|SCHEMA_\w+|PLATFORM|ARCH|PARAM_(LAZY|APPEND|INCLUDE_\w+|TIME_\w+|TABLES_TO_EXPORT"
        r"|TIMES_TO_EXPORT|EXPORT_TYPE)|CONFIG_TIME_SHIFT)|DERIVED_WINDOW_NS"
    ),
    schema.CAPTURE_METADATA: re.compile(
        r"(PROCESS_\d+:)?(COLLECT_\w+|CUDA_\w+(:\w+)?|CAPTURE_EVENT_TYPE|LINUX_PERF\w*|TRACE_ALL_TASKS|RUN_DURATION_MS)"
    ),
    schema.SYSTEM: re.compile(
        r"NvDriverVersion|CudaDriverVersion|Cpu(Cores|Architecture|SpeedMhz)|Supports\w+|Has\w+|HardwarePlatform"
    ),
}
_METADATA_VALUE = re.compile(
    r"-?\d[\d .,:T+-]{0,40}|true|false|yes|no|NVIDIA Nsight Systems|linux-[a-z]{1,10}|x64|x86_64|aarch64|arm64|sbsa"
    r"|[A-Z][A-Za-z]{1,20}|[A-Z][A-Z_]{1,60}(?:,[A-Z][A-Z_]{1,60})*|"
)
"""Numbers, versions, switches, and the words in which nsys names modes, event types and tables."""

_PATH = re.compile(
    r"""(?:file://)?(?:[A-Za-z]:[\\/]|\\\\[\w.-]+\\|~[\w.-]*/|(?<![\w.)\]>*&])/(?=[^/\s'",;:()<>]+/))"""
    r"""[^\s'",;:()<>\[\]]*?([^\s'",;:()<>\[\]/\\]+)(?=[\s'",;:()<>\[\]]|$)"""
)
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_PERSON_NAME = re.compile(r"(?:USER|LOGNAME|USERNAME|SUDO_USER)")
_HOST_NAME = re.compile(r"(?:HOSTNAME|HOST|SLURMD_NODENAME|SLURM_JOB_USER|COMPUTERNAME)")
_COMMON = frozenset({"root", "user", "admin", "ubuntu", "localhost", "host", "nobody", "none", "default", "local"})
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Identity:
    """Words of one export that point at a person, a machine or a secret, longest first."""

    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Identity:
        """Collect them from the metadata rows (name, value) of the export, its environment blocks included."""
        found: set[str] = set()
        for name, value in pairs:
            if name in {"EXPORT_HOST", "EXPORT_USER", "Hostname", "DEVICE_DISPLAY_NAME"} or name.endswith("USER_NAME"):
                found.add(value)
            elif name == "DeviceEnvironment":
                found.update(_of_variables(value.split(";")))
            elif name.endswith("ENVIRONMENT_VARIABLE"):
                found.update(_of_variables([value]))
        wanted = {word for word in map(str.strip, found) if len(word) >= _SHORTEST and word.lower() not in _COMMON}
        return cls(tuple(sorted(wanted, key=lambda word: (-len(word), word))))


class Cleaner:
    """Removes paths and identifying words from text and counts the texts it changed."""

    def __init__(self, identity: Identity) -> None:
        words = "|".join(map(re.escape, identity.words))
        self._words = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None
        self.changed = 0

    def __call__(self, text: str | None) -> str | None:
        """The text with absolute paths cut to their last part and identifying words replaced."""
        if not text:
            return text
        clean = _PATH.sub(r"\1", text)
        if self._words is not None:
            clean = self._words.sub("<removed>", clean)
        self.changed += clean != text
        return clean


def keeps_table(table: str) -> bool:
    """Whether a table travels: those that the analysis reads, and the ENUM tables that explain them."""
    return schema.is_read(table)


def keeps_text(table: str, column: str) -> bool:
    """Whether a text column travels (cleaned). Numbers of kept tables always do."""
    if table.startswith("ENUM_"):
        return column in ENUM_TEXT
    return (_unversioned(table), column) in TEXT_COLUMNS


def kept_text(table: str, column: str, text: str | None) -> str | None:
    """What of one text of a column that travels may travel, before it is cleaned."""
    place = (_unversioned(table), column)
    if text is None or not TEXT_COLUMNS.get(place, _ANYTHING).fullmatch(text):
        return None
    return public(text) if place in MESSAGES else text


def _unversioned(table: str) -> str:
    return re.sub(r"_V\d+$", "", table, flags=re.IGNORECASE)


def metadata_rows(table: str) -> re.Pattern[str] | None:
    """The names of rows that travel, for tables of (name, value); None for other tables."""
    return next((pattern for group, pattern in _METADATA.items() if table in group), None)


def keeps_row(table: str, name: str | None, value: str | None) -> bool:
    """Whether one metadata row travels."""
    pattern = metadata_rows(table)
    return bool(pattern and pattern.fullmatch(name or "") and _METADATA_VALUE.fullmatch(value or ""))


def _of_variables(assignments: Iterable[str]) -> Iterable[str]:
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        value = value.strip().strip('"')
        if _PERSON_NAME.fullmatch(name) or _HOST_NAME.fullmatch(name):
            yield value
        elif name == "HOME":
            yield value.rsplit("/", 1)[-1]
        elif _SECRET_NAME.search(name) and len(value) >= 8:
            yield value
