"""Builds and measures the kernel pairs on a machine with a GPU: `capture FOLDER cuda` and `capture FOLDER triton`.

Writes `<program>.times.jsonl` (unprofiled, interleaved) and, where `ncu` is on PATH, the raw and details pages.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("main.cu", "memory.cu", "latency.cu", "compute.cu")
REPEATS = 25
PATTERNS = {"cuda": "^pk_", "triton": "^tri_"}
EXTRA_METRICS = (
    "lts__t_requests_op_membar.sum",
    "lts__t_sectors_op_membar.sum",
    "lts__t_requests_srcunit_tex_op_membar.sum",
)
PROFILE = ("ncu", "--clock-control", "none", "--set", "full", "--metrics", ",".join(EXTRA_METRICS), "-f")


def run(*command: str, timeout: int = 500) -> str:
    """Standard output of a command; raises on failure."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout)  # noqa: S603
    return done.stdout


def build(folder: Path) -> Path:
    """Compile the CUDA pairs for the local device, one process a source."""
    objects = [folder / f"{source}.o" for source in SOURCES]
    compile_one = ("nvcc", "-std=c++17", "-O3", "-arch=native", "-lineinfo", "-c", "-o")
    jobs = [
        subprocess.Popen([*compile_one, str(object_file), str(HERE / source)])  # noqa: S603
        for object_file, source in zip(objects, SOURCES, strict=True)
    ]
    codes = [job.wait() for job in jobs]
    if any(codes):
        raise SystemExit("nvcc failed")
    program = folder / "pairs"
    run("nvcc", "-arch=native", "-o", str(program), *map(str, objects))
    return program


def profile(folder: Path, name: str, pattern: str, program: tuple[str, ...]) -> None:
    """Profile each kernel of the program that matches once and keep both CSV pages."""
    report = folder / f"{name}.ncu-rep"
    run(*PROFILE, "-k", f"regex:{pattern}", "-o", str(report.with_suffix("")), *program, "once")
    for page in ("raw", "details"):
        text = run("ncu", "-i", str(report), "--csv", "--page", page)
        with gzip.open(folder / f"{name}.{page}.csv.gz", "wt", newline="") as out:
            out.write(text)


def main() -> None:
    """Build, time, profile one program."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    program = (str(build(folder)),) if name == "cuda" else (sys.executable, str(HERE / "triton_pairs.py"))
    (folder / f"{name}.times.jsonl").write_text(run(*program, "time", str(REPEATS)))
    if shutil.which("ncu"):
        profile(folder, name, PATTERNS[name], program)


if __name__ == "__main__":
    main()
