"""Hand-built analyses for reporter tests: every feature of the document, and names that attack the formats."""

from __future__ import annotations

from stallscope.model.analysis import (
    Analysis,
    Capture,
    CaptureNote,
    DeviceLedger,
    Intensity,
    KernelCauseItem,
    KernelCauses,
    KernelGain,
    Source,
    Step,
    Tool,
)
from stallscope.model.experiments import Experiment, Prediction
from stallscope.model.findings import Check, Evidence, Finding, Place, Recoverable
from stallscope.model.replay import CriticalPath, ReplaySummary

MS = 1_000_000
TOOL = Tool(version="0.0.0")

HOSTILE: dict[str, str] = {
    "markup": "<img src=x onerror=alert(1)><script>alert(2)</script>",
    "closing_tags": "</code></td></details></script><!--",
    "control": "kernel\x00\x07\x1b[31mred\x1b[0m\x9b",
    "bidi": "safe\u202egnp.exe\u2066\u200f",
    "long": "k" * 100_000,
    "formula": '=HYPERLINK("http://evil.example","x")',
    "formula_at": "@SUM(1+1)*cmd|'/c calc'!A0",
    "pipes": "a|b||c|\n|---|---|\n|x|y|",
    "backticks": "`` ` ``` code ``` `",
    "links": "[click](javascript:alert(1)) ![i](http://evil.example/i.png) www.evil.example",
    "mention": "@torvalds fixes #1 and org/repo#2 :tada: $x^2$",
    "xml": "]]><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;\ufffe\ud800",
    "template": "{{ 7*7 }}{% raw %}${alert(1)}<%= 1 %>\\u003cscript\\u003e",
}

RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
NO_FAULTS = Check(wait="uvm.fault_gpu", outcome="not_applicable", reason="not collected: add --cuda-um-gpu-page-faults")


def evidence(label: str = "gaps after cudaFree", value: float = 40, source: str = RUNTIME) -> Evidence:
    return Evidence(label=label, value=value, unit="count", source=source)


def experiment(title: str = "Use the stream-ordered allocator") -> Experiment:
    return Experiment(
        title=title,
        change="Replace cudaMalloc and cudaFree in the loop by cudaMallocAsync and cudaFreeAsync on the same stream.",
        apply=("PYTORCH_ALLOC_CONF=backend:cudaMallocAsync",),
        measure="stallscope run -- ./train && stallscope diff base.sqlite --to head.sqlite",
        expect=Prediction(metric="step_ns", low=2 * MS, high=9 * MS),
        refuted_if="the step time does not fall by at least 2 ms",
        numerics="bit-identical",
        effort="flag",
    )


def finding(wait: str = "alloc.sync", wait_ns: int = 12 * MS, **changes: object) -> Finding:
    known: dict[str, object] = {
        "id": "F-3f2a91",
        "wait": wait,
        "title": "The device drains in every cudaFree and stays idle until the next launch",
        "severity": "warning",
        "evidence_level": "supported",
        "devices": ("GPU 0",),
        "count": 40,
        "wait_ns": wait_ns,
        "share": wait_ns / (100 * MS),
        "recoverable_ns": Recoverable(
            low=wait_ns // 2, high=wait_ns, assumes="the launches that follow are not delayed"
        ),
        "evidence": (evidence(), Evidence(label="idle inside cudaFree", value=wait_ns, unit="ns", source="gaps")),
        "where": (
            Place(
                nvtx=("step", "layer"), api="cudaFree", kernel="touch", thread=23, count=30, wait_ns=wait_ns * 3 // 4
            ),
            Place(nvtx=("step",), api="cudaMalloc", kernel="touch", thread=23, count=10, wait_ns=wait_ns // 4),
        ),
        "spans": ((10 * MS, 10 * MS + 300_000), (20 * MS, 20 * MS + 280_000)),
        "experiments": (experiment(),),
        "caveats": ("The trace holds one run; the spread between runs is not known.",),
        "docs": f"waits/{wait}",
    }
    return Finding(**{**known, **changes})  # type: ignore[arg-type]


def ledger(device: str = "GPU 0", window_ns: int = 100 * MS, **charges: int) -> DeviceLedger:
    charged = {key.replace("__", "."): value for key, value in charges.items()}
    charged["ok.compute"] = charged.get("ok.compute", 0) + window_ns - sum(charged.values())
    idle = sum(value for key, value in charged.items() if not key.startswith(("ok.", "copy.exposed", "comm.")))
    return DeviceLedger(
        device=device,
        uuid=f"GPU-0000-{device[-1]}",
        name="NVIDIA H200",
        window_ns=window_ns,
        busy_ns=window_ns - idle,
        idle_ns=idle,
        ledger=charged,
        start_ns=5 * MS,
    )


def _source(name: str) -> Source:
    return Source(name=name, sha256="ab" * 32, format="nsys-sqlite", producer="Nsight Systems 2023.4.4", schema="3.7.2")


def _capture(*notes: CaptureNote) -> Capture:
    collected = {"kernels": "yes", "api": "yes", "copies": "yes", "nvtx": "yes", "uvm_faults": "no", "osrt": "unknown"}
    return Capture(collected={**collected, "graph_trace": "none"}, notes=notes)  # type: ignore[arg-type]


def healthy() -> Analysis:
    """Nothing to report, and one rule that could not look."""
    return Analysis(
        tool=TOOL,
        sources=(_source("healthy.sqlite"),),
        capture=_capture(),
        devices=(ledger(launch__drain=MS),),
        steps=(Step(name="step", durations_ns=(20 * MS,) * 5),),
        checks=(
            Check(wait="launch.gap", outcome="clean"),
            NO_FAULTS,
        ),
    )


def replayed() -> ReplaySummary:
    path = CriticalPath(total_ns=100 * MS, parts_ns={"compute": 60 * MS, "host": 30 * MS, "launch": 10 * MS})
    return ReplaySummary(
        operations=100,
        host_waits=4,
        error=0.001,
        explains=True,
        message="replaying the dependencies misses the measured time by 0.1 %",
        joint=("F-3f2a91", "F-77aa01"),
        joint_ns=13 * MS,
        critical_path=path,
    )


def alloc() -> Analysis:
    """One loud finding, one quiet one, a replay that explains the run, a broken rule and a note about the capture."""
    return Analysis(
        replay=replayed(),
        tool=TOOL,
        sources=(_source("alloc.sqlite"),),
        capture=_capture(CaptureNote(id="env.partial_capture", message="The capture begins inside a step.")),
        devices=(ledger(alloc__sync=12 * MS, launch__gap=3 * MS, unknown__unattributed=MS),),
        steps=(Step(name="step", durations_ns=(20 * MS,) * 5),),
        findings=(
            finding(),
            finding("launch.gap", 3 * MS, id="F-77aa01", evidence_level="indicated", title="Kernels are issued singly"),
        ),
        checks=(
            Check(wait="alloc.sync", outcome="found"),
            Check(wait="launch.gap", outcome="found"),
            Check(wait="sync.scalar", outcome="clean"),
            Check(wait="input.wait", outcome="failed", reason="ValueError: no thread"),
            NO_FAULTS,
        ),
    )


def intensity(pipe: str, flop_per_s: float, bytes_per_s: float, peak_flop_per_s: float) -> Intensity:
    peaks = {"peak_flop_per_s": peak_flop_per_s, "peak_bytes_per_s": 4e12}
    return Intensity(pipe=pipe, flop_per_s=flop_per_s, bytes_per_s=bytes_per_s, **peaks)


def kernels() -> Analysis:
    """Counters of kernels only, as an ncu export gives them."""
    dram = KernelGain(low=0.1, high=0.3)
    latency = KernelGain(low=0, high=0.2)
    causes = (
        KernelCauseItem(wait="kernel.mem.dram", kernel_gain=dram, ceiling="dram", message="61 % of DRAM peak"),
        KernelCauseItem(wait="kernel.latency.long_scoreboard", kernel_gain=latency, ceiling="dram"),
    )
    first = KernelCauses(
        kernel="copy_coalesced", grid=(64, 64, 1), block=(128, 1, 1), launches=3, time_ns=9 * MS, share=0.6,
        cause="kernel.mem.dram", evidence_level="supported", causes=causes,
        stalls={"selected": 0.05, "long_scoreboard": 0.8, "barrier": 0.1, "wait": 0.05},
        intensity=intensity("fp32", 1e12, 2e12, 6e13),
    )  # fmt: skip
    second = KernelCauses(
        kernel="mm", grid=(8, 8, 1), block=(256, 1, 1), launches=1, time_ns=6 * MS, share=0.4,
        cause="ok.compute_bound", evidence_level="supported",
        intensity=intensity("tensor", 5e14, 1e12, 1e15),
    )  # fmt: skip
    source = Source(name="kern.csv", sha256="cd" * 32, format="ncu-csv", producer="Nsight Compute 2025.3.1")
    return Analysis(tool=TOOL, sources=(source,), kernels=(first, second))


def many() -> Analysis:
    """Eight devices and 300 findings: more than any comment can hold."""
    places = tuple(
        Place(nvtx=("step", f"layer{n}"), api="cudaFree", kernel=f"kernel_{n}", count=1, wait_ns=1000)
        for n in range(40)
    )
    findings = tuple(
        finding("launch.gap", (400 - n) * 10_000, id=f"F-{n:06x}", title=f"Late launches in layer {n}", where=places)
        for n in range(300)
    )
    devices = tuple(ledger(f"GPU {n}", launch__gap=20 * MS) for n in range(8))
    return Analysis(
        tool=TOOL, sources=(_source("many.sqlite"),), capture=_capture(), devices=devices, findings=findings
    )


def hostile() -> Analysis:
    """Every place of the document that holds text of a trace holds every hostile name."""
    findings = tuple(
        finding(
            id=f"F-{n:06x}",
            title=f"Waits before {name}",
            devices=(name,),
            evidence=(evidence(label=name, source=name),),
            where=(Place(nvtx=(name, name), api=name, kernel=name, thread=1, count=1, wait_ns=1000),),
            experiments=(experiment(title=name),),
            caveats=(name,),
        )
        for n, name in enumerate(HOSTILE.values())
    )
    gain = KernelGain(low=0, high=1)
    causes = tuple(
        KernelCauses(
            kernel=name, grid=(1, 1, 1), block=(1, 1, 1), launches=1, time_ns=1, share=0.1,
            cause="kernel.mem.dram", evidence_level="indicated",
            causes=(KernelCauseItem(wait="kernel.mem.dram", kernel_gain=gain, ceiling=name, message=name),),
        )
        for name in HOSTILE.values()
    )  # fmt: skip
    return Analysis(
        tool=TOOL,
        sources=tuple(_source(name) for name in HOSTILE.values()),
        capture=Capture(
            collected={"nvtx": "yes"}, notes=tuple(CaptureNote(id="env.note", message=n) for n in HOSTILE.values())
        ),
        devices=tuple(ledger(name, alloc__sync=MS) for name in HOSTILE.values()),
        steps=tuple(Step(name=name, durations_ns=(MS,)) for name in HOSTILE.values()),
        findings=findings,
        checks=tuple(Check(wait="alloc.sync", outcome="failed", reason=name) for name in HOSTILE.values()),
        kernels=causes,
    )


def samples() -> dict[str, Analysis]:
    """Every sample by name."""
    return {made.__name__: made() for made in (healthy, alloc, kernels, many, hostile)}
