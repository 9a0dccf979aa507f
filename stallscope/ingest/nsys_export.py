"""Turns a `.nsys-rep` report into a SQLite export with the user's own nsys, and explains its failures."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stallscope.errors import InputError, ToolMissingError
from stallscope.ingest.nsys_capture import scrubbed
from stallscope.ingest.progress import Progress, silent

Version = tuple[int, ...]

VARIABLE = "STALLSCOPE_NSYS"
_FOLDERS = (
    "/opt/nvidia/nsight-systems*/*/bin",
    "/opt/nvidia/nsight-systems*/*/target-linux-*",
    "/opt/nvidia/nsight-systems/bin",
    "/usr/local/cuda*/bin",
    "/usr/lib/nsight-systems/bin",
    "/usr/lib/*/nsight-systems/target-linux-*",
    "/opt/nsight-systems/usr/lib/*/nsight-systems/target-linux-*",
    "/Applications/NVIDIA Nsight Systems.app/Contents/MacOS",
    "C:/Program Files/NVIDIA Corporation/Nsight Systems */target-windows-x64",
)
_VERSION = re.compile(r"(\d{4})\.(\d+)\.(\d+)(?:\.(\d+))?")
_REPORT_VERSION = re.compile(rb"NVIDIA Tegra Profiler Report (\d+)@(\d+)@(\d+)@(\d+)")
_PERCENT = re.compile(rb"(\d{1,3})%")
_INSTALL = (
    "install Nsight Systems (developer.nvidia.com/nsight-systems) or point --nsys or STALLSCOPE_NSYS at it, or run "
    "`nsys export --type sqlite` where it is installed and give the .sqlite file"
)
STALLED_S = 600.0
_POLL_S = 0.1
_KEPT_CHUNKS = 64
_TOO_NEW = re.compile(
    r"created in Nsight Systems version \(?[\d.]+|Version number is invalid: [\d@.]+|newer than your current version",
    re.IGNORECASE,
)
_AGAIN = "copy it again from where it was captured, or capture it again"
_SURROUNDINGS: tuple[tuple[str, str, str], ...] = (
    (
        r"no space left|disk (?:is )?full|database or disk is full",
        "the disk is full",
        "free space, or set STALLSCOPE_CACHE_DIR",
    ),
    (
        r"database is locked",
        "the cache folder lies on a file system without locks",
        "set STALLSCOPE_CACHE_DIR to a local disk",
    ),
    (r"permission denied", "nsys may not read it", "check its permissions"),
)
_DAMAGES: tuple[tuple[str, str, str], ...] = (
    (
        r"missing required fields",  # how 2020.4 takes a report of 2022.4, whose header tells no version
        "damaged report, or one that a newer nsys wrote",
        "try a newer nsys, or copy it again from where it was captured",
    ),
    (r"cannot read from stream|unexpected end|magic number mismatch|truncated", "truncated or damaged report", _AGAIN),
    (r"ParseException|corrupt|invalid version prefix|checksum", "damaged report", _AGAIN),
)
_LAZY = ("--lazy", "true")
_KNOWS_NO_LAZY = re.compile(r"unrecogni[sz]ed option '?--lazy")


@dataclass(frozen=True, slots=True)
class Nsys:
    """One installed nsys."""

    program: str
    version: Version

    @property
    def label(self) -> str:
        """`2023.4.4`."""
        return ".".join(map(str, self.version[:3])) or "of unknown version"


def find_nsys(chosen: str | None = None, needed: Version = ()) -> Nsys:
    """The nsys to use: the chosen one, else STALLSCOPE_NSYS, else one of PATH and the usual install folders.

    Of the latter the first that can open a report of version `needed`, or the newest when none can. Raises
    `ToolMissingError`.
    """
    explicit = chosen or os.environ.get(VARIABLE)
    if explicit:
        program = shutil.which(explicit)
        if program is None:
            where = "--nsys" if chosen else VARIABLE
            raise ToolMissingError(f"{where} names no program: {explicit}", next_step="correct it, or leave it out")
        return _probe(program)
    found: list[Nsys] = []
    for nsys in filter(
        None, map(_probe_quietly, candidates())
    ):  # asking costs a process: stop at the first that will do
        if nsys.version[:3] >= needed[:3]:
            return nsys
        found.append(nsys)
    if not found:
        raise ToolMissingError("reading a .nsys-rep report needs nsys, which is not installed", next_step=_INSTALL)
    return max(found, key=lambda nsys: nsys.version)


def candidates() -> list[str]:
    """Every nsys program on PATH and in the folders that installers use, each once."""
    name = "nsys.exe" if sys.platform == "win32" else "nsys"
    on_path = [shutil.which("nsys")]
    installed = [str(folder / name) for folder in _install_folders() if os.access(folder / name, os.X_OK)]
    return list(dict.fromkeys(program for program in [*on_path, *installed] if program))


def report_version(report: Path) -> Version:
    """Version of the nsys that wrote a report; empty when its header does not say."""
    with report.open("rb") as file:
        found = _REPORT_VERSION.match(file.read(256))
    return tuple(int(part) for part in found.groups()) if found else ()


def export(
    report: Path, target: Path, nsys: Nsys, *, progress: Progress = silent, stalled_s: float = STALLED_S
) -> None:
    """Write the SQLite export of a report to `target`, whole or not at all; `stalled_s` without progress ends it.

    Raises `InputError` that says what nsys found wrong with the report.
    """
    part = target.with_name(f".{os.getpid()}.part.{target.stem}.sqlite")
    command = [nsys.program, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", str(part)]
    try:
        run = _Run([*command, *_LAZY, str(report.resolve())], part)
        code = run.wait(progress, stalled_s)
        if code and _KNOWS_NO_LAZY.search(run.said):  # 2020.4: writes the empty tables too
            run = _Run([*command, str(report.resolve())], part)
            code = run.wait(progress, stalled_s)
        if code is None:
            raise InputError(
                f"nsys {nsys.label} made no progress for {stalled_s:.0f} s and was stopped",
                file=report.name,
                next_step="check the free disk space, or export it by hand: nsys export --type sqlite",
            )
        if code or not part.is_file() or not part.stat().st_size:
            raise explained(report.name, nsys, run.said, made_by=report_version(report))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
        part.with_name(part.name + "-journal").unlink(missing_ok=True)


def explained(name: str, nsys: Nsys, said: str, *, made_by: Version = ()) -> InputError:
    """What nsys's message means for the user, without its source paths; `made_by` as the report's header tells.

    Old versions say nothing of newer reports: they stumble over the first thing that they do not know.
    """
    newer = _TOO_NEW.search(said)
    if newer:
        needed = _VERSION.search(newer[0].replace("@", "."))
        return _too_new(name, nsys, needed[0] if needed else "a newer version")
    for pattern, what, then in _SURROUNDINGS:
        if re.search(pattern, said, re.IGNORECASE):
            return InputError(what, file=name, next_step=then)
    if nsys.version and made_by[:3] > nsys.version[:3]:
        return _too_new(name, nsys, ".".join(map(str, made_by)))
    for pattern, what, then in _DAMAGES:
        if re.search(pattern, said, re.IGNORECASE):
            return InputError(what, file=name, next_step=then)
    return InputError(
        f"nsys {nsys.label} cannot export it: {_last_words(said)}",
        file=name,
        next_step="capture it again, or try a newer nsys",
    )


def _too_new(name: str, nsys: Nsys, version: str) -> InputError:
    return InputError(
        f"the report was made by nsys {version}, and nsys {nsys.label} cannot open newer reports",
        file=name,
        next_step=f"install nsys {version} or newer (or point --nsys at it), or export it where it was made: "
        "nsys export --type sqlite",
    )


def _last_words(said: str) -> str:
    lines = [scrubbed(line) for line in said.splitlines() if line.strip() and "%" not in line]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it said nothing")


class _Run:
    """nsys at work: its percentages become progress, its other output is kept."""

    def __init__(self, command: list[str], output: Path) -> None:
        self._output = output
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._chunks: deque[bytes] = deque(maxlen=_KEPT_CHUNKS)
        self._share: float | None = None
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    @property
    def said(self) -> str:
        """The last output of nsys."""
        return b"".join(self._chunks).replace(b"\r", b"\n").decode("utf-8", "replace")

    def wait(self, progress: Progress, stalled_s: float) -> int | None:
        """Exit code; None when nothing moved for `stalled_s`."""
        try:
            return self._watched(progress, stalled_s)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._reader.join(timeout=5)
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _watched(self, progress: Progress, stalled_s: float) -> int | None:
        state, changed = self._state(), time.monotonic()
        while True:
            try:
                return self._process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                progress("exporting the report with nsys", self._share)
            if (now := self._state()) != state:
                state, changed = now, time.monotonic()
            elif time.monotonic() - changed > stalled_s:
                return None

    def _state(self) -> tuple[float | None, int]:
        try:
            return self._share, self._output.stat().st_size
        except OSError:
            return self._share, 0

    def _listen(self) -> None:
        stream = self._process.stdout
        while stream is not None and (chunk := stream.read1(4096)):  # type: ignore[attr-defined]
            self._chunks.append(chunk)
            percents = _PERCENT.findall(chunk)
            if percents:
                self._share = min(int(percents[-1]), 100) / 100


def _install_folders() -> Iterator[Path]:
    for pattern in _FOLDERS:
        anchor = Path(pattern).anchor
        if anchor and Path(anchor).is_dir():
            yield from sorted(Path(anchor).glob(pattern[len(anchor) :]), reverse=True)


def _probe(program: str) -> Nsys:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissingError(f"{Path(program).name} does not run: {error}", next_step=_INSTALL) from error
    found = _VERSION.search(said.stdout + said.stderr)
    if found is None:
        raise ToolMissingError(f"{Path(program).name} is not nsys: it tells no version", next_step=_INSTALL)
    return Nsys(program, tuple(int(part) for part in found.groups() if part))


def _probe_quietly(program: str) -> Nsys | None:
    try:
        return _probe(program)
    except ToolMissingError:
        return None
