"""Time and memory of reading a large PyTorch profiler trace.

    python benchmarks/ranks_reader.py [MEGABYTES] [FOLDER]

Writes a trace of that size in the profiler's own layout (operators, calls, kernels, flow arrows, Python frames in the
proportions of a traced training step) and reads it in a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPERATOR = (
    '  {{\n    "ph": "X", "cat": "cpu_op", "name": "aten::op_{kind}", "pid": 77, "tid": 77,\n    "ts": '
    "{ts}.{ns:03d}, "
    '"dur": 12.345,\n    "args": {{\n      "External id": {id},"Record function id": 0, "Concrete Inputs": '
    '["", "", "1"], '
    '"Input type": ["float", "float", "Scalar"], "Input Strides": [[1024, 1], [1024, 1], []], "Input Dims": '
    "[[512, 1024], "
    '[512, 1024], []], "Ev Idx": {id}\n    }}\n  }},\n'
)
CALL = (
    '  {{\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77,\n    '
    '"ts": {ts}.{ns:03d}, '
    '"dur": 5.125,\n    "args": {{\n      "External id": {id}, "cbid": 211, "correlation": {id}\n    }}\n  }},\n'
    '  {{\n    "ph": "s", "id": {id}, "pid": 77, "tid": 77, "ts": {ts}.{ns:03d},\n    "cat": "ac2g", "name": '
    '"ac2g"\n  }},\n'
)
KERNEL = (
    '  {{\n    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, '
    "at::native::Functor_{kind}"
    '<float>, std::array<char*, 2ul> >(int, at::native::Functor_{kind}<float>, std::array<char*, 2ul>)", '
    '"pid": 0, "tid": 7,\n'
    '    "ts": {after}.{ns:03d}, "dur": 8.704,\n    "args": {{\n      "External id": {id}, "queued": 0, '
    '"device": 0, "context": 1, '
    '"stream": 7, "correlation": {id}, "registers per thread": 32, "shared memory": 0, "blocks per SM": 3.878788, '
    '"warps per SM": 15.515152, "grid": [512, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 24\n '
    "   }}\n  }},\n"
    '  {{\n    "ph": "f", "id": {id}, "pid": 0, "tid": 7, "ts": {after}.{ns:03d},\n    "cat": "ac2g", '
    '"name": "ac2g", "bp": "e"\n  }},\n'
)
FRAME = (
    '  {{\n    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py({kind}): '
    '_call_impl", "pid": 77, "tid": 77,\n'
    '    "ts": {ts}.{ns:03d}, "dur": 14.001,\n    "args": {{\n      "Python parent id": 1, "Python id": '
    '{id}, "Ev Idx": {id}\n    }}\n  }},\n'
)
BLOCK = OPERATOR + CALL + KERNEL + FRAME * 2
FIRST_US = 5_319_144_589_184


def write(path: Path, size: int) -> int:
    """Write about `size` bytes; returns the number of kernels."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        written = file.write(
            '{\n  "schemaVersion": 1,\n  "baseTimeNanoseconds": 1790857026000000000,\n  "traceEvents": [\n'
        )
        while written < size:
            rows = [
                BLOCK.format(ts=FIRST_US + 20 * i, after=FIRST_US + 20 * i + 9, ns=i % 1000, id=i + 1, kind=i % 97)
                for i in range(count, count + 2_000)
            ]
            written += file.write("".join(rows))
            count += len(rows)
        file.write('  {"ph": "M", "name": "end", "pid": 0, "tid": 0}\n  ],\n  "traceName": "x.json"\n}\n')
    return count


def read(path: Path) -> None:
    """Read in this process and print what it took."""
    from stallscope.ingest.kineto import read_kineto
    from stallscope.model.events import Kernels

    began, worked = time.perf_counter(), time.process_time()
    trace = read_kineto(path)
    taken, worked = time.perf_counter() - began, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    kernels = len(trace.tables[Kernels])
    print(f"{size:.0f} MB, {kernels} kernels: {taken:.1f} s wall, {worked:.1f} s CPU, peak {peak:.0f} MiB", flush=True)


def main(megabytes: int, folder: str | None) -> None:
    """Write, read in a fresh process, remove."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "trace.json"
        write(path, megabytes * 1_000_000)
        subprocess.run([sys.executable, __file__, "--read", str(path)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, sys.argv[2] if len(sys.argv) > 2 else None)
