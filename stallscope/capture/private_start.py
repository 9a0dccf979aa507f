"""Starts a program under a profiler without the profiler seeing its environment, arguments, folder or output.

Nsight Systems writes all of these into its report, where nobody can remove them again, and beside them the command
lines and environments of every other process it can read. So it is started with an empty environment, in a process
namespace of its own where the system allows that, and told to run a shell script, which restores everything and
becomes the program.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JOINED = ("LD_PRELOAD", "LD_LIBRARY_PATH")
_HIGHEST_SHELL_FD = 9
_NAMESPACES = ("--user", "--map-current-user", "--keep-caps", "--pid", "--fork", "--kill-child", "--mount-proc")
_NUMBERED = 'echo "$1" > /proc/sys/kernel/ns_last_pid || exit 125; shift; "$@"; exit $?'
"""Needs the capabilities of the new namespace, which the profiler and the program do not get."""

_PID_MAX = Path("/proc/sys/kernel/pid_max")
_SMALLEST_PID_MAX = 32_768
_WORLD_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "MV2_COMM_WORLD_SIZE")
_SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class PrivateStart:
    """How to call the profiler: what stands before it, its program, environment, folder and inherited descriptors.

    `reports` leads from that folder to where the reports belong, so that their path is not seen either.
    """

    prefix: tuple[str, ...]
    program: tuple[str, ...]
    environment: dict[str, str]
    descriptors: tuple[int, ...]
    folder: Path
    script: Path
    reports: Path

    @property
    def mixes_output(self) -> bool:
        """Whether the program's output still passes through the profiler: a shell redirects to single digits only."""
        return not _redirects(self.descriptors)

    @property
    def started(self) -> bool:
        """Whether the program was reached: the script removes itself first."""
        return not self.script.exists()


def isolation(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Command that hides other processes from what it starts; empty where the system does not allow it.

    One rank of several is not isolated: processes in different namespaces cannot share device memory, which would
    change what is measured.
    """
    unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
    if not unshare or not setpriv or any(environment.get(name, "1") not in {"", "0", "1"} for name in _WORLD_SIZES):
        return ()
    shell = (_SHELL, "-c", _NUMBERED, "sh", str(_first_process_number()))
    prefix = (unshare, *_NAMESPACES, *shell, setpriv, "--ambient-caps=-all", "--inh-caps=-all")
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)  # noqa: S603
    return prefix if tried.returncode == 0 else ()


def _first_process_number() -> int:
    """Where the numbers begin inside: nsys names its sessions and channels by them, and two runs must not meet."""
    try:
        highest = int(_PID_MAX.read_text(encoding="ascii"))
    except (OSError, ValueError):
        highest = _SMALLEST_PID_MAX
    return secrets.randbelow(max(1, highest // 2)) + 1_000


def available() -> bool:
    """Whether this system can do it; without a POSIX shell the profiler has to start the program itself."""
    return os.name == "posix" and Path(_SHELL).is_file()


@contextmanager
def private_start(program: Sequence[str], environment: Mapping[str, str], reports: Path) -> Iterator[PrivateStart]:
    """A script that becomes `program` in the present folder, and a link to the folder `reports`; both vanish after."""
    with tempfile.TemporaryDirectory(prefix="stallscope-") as folder:
        outputs = os.dup(1), os.dup(2)
        try:
            script = Path(folder) / "start"
            link = Path(folder) / "reports"
            link.symlink_to(reports.resolve(), target_is_directory=True)
            script.write_text(_script(program, environment, outputs), encoding="utf-8", errors="surrogateescape")
            script.chmod(0o700)
            own = _profiler_environment(environment, folder)
            yield PrivateStart(
                isolation(environment), (_SHELL, str(script)), own, outputs, Path(folder), script, Path(link.name)
            )
        finally:
            for number in outputs:
                os.close(number)


def _script(program: Sequence[str], environment: Mapping[str, str], outputs: tuple[int, int]) -> str:
    lines = ['rm -f "$0"', f"cd {shlex.quote(str(Path.cwd()))} || exit 126"]
    odd = []
    for name, value in environment.items():
        if name in _JOINED:
            lines.append(f'export {name}="${{{name}:+${name}:}}"{shlex.quote(value)}')
        elif _IDENTIFIER.fullmatch(name):
            lines.append(f"export {name}={shlex.quote(value)}")
        else:
            odd.append(shlex.quote(f"{name}={value}"))
    lines += [f"unset {name}" for name in ("OLDPWD",) if name not in environment]
    redirect = f" >&{outputs[0]} 2>&{outputs[1]}" if _redirects(outputs) else ""
    words = " ".join([*(["env", *odd] if odd else []), shlex.join(program)])
    lines.append(f"exec {words}{redirect}")
    return "\n".join(lines) + "\n"


def _redirects(outputs: Sequence[int]) -> bool:
    return max(outputs) <= _HIGHEST_SHELL_FD


def _profiler_environment(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """What the profiler itself needs; its own values win over these in the program, too."""
    kept = {name: environment[name] for name in ("TMPDIR",) if name in environment}
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder, **kept}
