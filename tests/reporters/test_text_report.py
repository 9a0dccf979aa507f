"""The terminal report, read as a person reads it."""

from __future__ import annotations

import io
import unicodedata

import pytest
from report_samples import MS, alloc, finding, healthy, kernels, ledger, many, samples

from stallscope.model.analysis import Analysis, Capture, CaptureNote, Source
from stallscope.model.findings import Check, Recoverable
from stallscope.model.replay import CriticalPath, ReplaySummary
from stallscope.model.workload import KernelWork, Workload
from stallscope.reporters.terminal import bar, cells, fit
from stallscope.reporters.text import TextReporter

DROPPED = Capture(
    collected={"kernels": "yes", "api": "yes"}, notes=(CaptureNote(id="env.dropped_events", message="events lost"),)
)
ONE_LAUNCH = KernelWork(signature="s", kernel="k", grid=(1, 1, 1), block=(1, 1, 1), launches=1, time_ns=1)


def rendered(analysis: Analysis, **options: object) -> str:
    out = io.StringIO()
    TextReporter(**options).render(analysis, out)  # type: ignore[arg-type]
    return out.getvalue()


def trace(**changes: object) -> Analysis:
    known: dict[str, object] = {
        "sources": (Source(name="t.sqlite", sha256="00", format="nsys-sqlite"),),
        "capture": Capture(collected={"kernels": "yes", "api": "yes"}),
    }
    return Analysis(**{**known, **changes})  # type: ignore[arg-type]


def test_first_finding_shows_worth_evidence_place_and_experiment() -> None:
    lines = rendered(alloc()).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(" 1 "))
    words = " ".join(lines[at].split())
    assert words == "1 alloc.sync saves 6.00 ms to 12.0 ms of 12.0 ms (12.0 %) F-3f2a91"
    assert lines[at + 1 : at + 6] == [
        "   The device drains in every cudaFree and stays idle until the next launch",
        "   supported: gaps after cudaFree: 40; idle inside cudaFree: 12.0 ms",
        "   worst: 30 times, 9.00 ms: step › layer, cudaFree, before touch",
        "   try: Use the stream-ordered allocator",
        "     PYTORCH_ALLOC_CONF=backend:cudaMallocAsync",
    ]


def test_headline_and_next_command() -> None:
    text = rendered(alloc())
    assert "\nGPU 0 waits 16.0 % of 100 ms\n" in text
    assert text.endswith("Next\n  stallscope explain alloc.sync\n  stallscope explain F-3f2a91 alloc.sqlite\n")


def test_next_command_takes_the_paths_the_user_gave() -> None:
    assert rendered(alloc(), paths=("my traces/a.sqlite",)).endswith(" F-3f2a91 'my traces/a.sqlite'\n")


def test_healthy_trace_says_so_and_names_what_was_not_checked() -> None:
    text = rendered(healthy())
    assert "Healthy: no removable wait of 1 % or more was found" in text
    assert "Findings" not in text
    assert " - not collected: add --cuda-um-gpu-page-faults (not checked: uvm.fault_gpu)\n" in text


def test_waits_that_one_flag_would_show_share_a_line() -> None:
    reason = "CUDA_UM_GPU_PAGE_FAULT_EVENTS not collected: profile with --cuda-um-gpu-page-faults=true"
    checks = tuple(Check(wait=w, outcome="not_applicable", reason=reason) for w in ("uvm.fault_gpu", "uvm.thrash"))
    other = Check(wait="uvm.evict", outcome="not_applicable", reason=reason.replace("GPU_PAGE_FAULT", "X"))
    text = " ".join(rendered(trace(devices=(ledger(),), checks=(*checks, other))).split())
    assert "- profile with nsys --cuda-um-gpu-page-faults=true to check uvm.fault_gpu, uvm.thrash, uvm.evict" in text


def test_trace_without_devices_is_not_healthy_and_quotes_the_diagnostic() -> None:
    note = CaptureNote(id="env.partial_capture", message="nsys: CUDA injection failed")
    text = rendered(trace(capture=Capture(notes=(note,))))
    assert "No GPU activity in this trace" in text
    assert "nsys: CUDA injection failed" in text
    assert "ealthy" not in text
    assert "stallscope doctor t.sqlite" in text


def test_graph_level_trace_refuses_the_headline() -> None:
    note = CaptureNote(id="env.graph_level_trace", message="replays are invisible: add --cuda-graph-trace=node")
    text = rendered(trace(capture=Capture(notes=(note,)), devices=(ledger(unknown__unattributed=90 * MS),)))
    assert "Cannot tell how long the GPU waited" in text
    assert "ealthy" not in text
    assert "--cuda-graph-trace=node" in text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"checks": (Check(wait="alloc.sync", outcome="failed", reason="KeyError"),)}, "1 rule failed"),
        ({"capture": Capture(collected={"kernels": "yes", "api": "no"})}, "the trace lacks what the rules need: api"),
        ({"capture": DROPPED}, "the profiler lost events"),
        (
            {"devices": (ledger(unknown__unattributed=2 * MS),)},
            "2.0 % is idle for reasons that the trace does not show",
        ),
        ({"workload": Workload(kernels=(ONE_LAUNCH,))}, "1 device operation is too few to judge"),
        ({"workload": Workload(kernels=())}, "no kernel and no copy is too few to judge"),
    ],
)
def test_nothing_found_by_rules_that_could_not_look_is_not_healthy(changes: dict[str, object], reason: str) -> None:
    text = rendered(trace(**{"devices": (ledger(),), **changes}))
    assert f"No finding, but {reason}" in " ".join(text.split())
    assert "ealthy" not in text


def test_note_is_listed_apart_and_never_first() -> None:
    note = finding("launch.queue_full", MS, severity="note", title="The device is the bottleneck")
    text = rendered(trace(devices=(ledger(),), findings=(note,)))
    assert "Healthy" in text
    assert " · launch.queue_full: The device is the bottleneck" in text


def test_nothing_to_win_is_said_in_words() -> None:
    worthless = finding(recoverable_ns=Recoverable(low=0, high=0, assumes="the device is busy meanwhile"))
    assert "saves nothing of 12.0 ms (12.0 %)" in rendered(
        trace(devices=(ledger(alloc__sync=12 * MS),), findings=(worthless,))
    )


def test_wait_beside_the_ledger_is_marked() -> None:
    beside = finding("dep.default_stream", ledger=False)
    text = rendered(trace(devices=(ledger(),), findings=(beside,)))
    assert "(beside the ledger: the device was busy meanwhile)" in " ".join(text.split())


def test_kernel_of_a_wait_inside_kernels_is_not_called_the_next_one() -> None:
    inside = finding("uvm.fault_gpu")
    assert "worst: 30 times, 9.00 ms: step › layer, cudaFree, in touch" in rendered(
        trace(devices=(ledger(),), findings=(inside,))
    )


def test_a_wait_inside_kernels_does_not_excuse_itself_from_the_ledger() -> None:
    inside = finding("kernel.mem.dram", ledger=False)
    assert "beside the ledger" not in rendered(trace(devices=(ledger(),), findings=(inside,)))


def test_what_all_findings_give_together_is_said_under_them() -> None:
    path = CriticalPath(total_ns=100, parts_ns={"launch": 30, "host": 70})
    replay = ReplaySummary(
        operations=9,
        host_waits=0,
        error=0.0,
        explains=True,
        message="",
        joint=("F-1", "F-2"),
        joint_ns=3 * MS,
        critical_path=path,
    )
    text = rendered(trace(devices=(ledger(alloc__sync=12 * MS),), findings=(finding(),), replay=replay))
    expected = "gives at most 3.00 ms; single gains do not add up. Critical path: host 70.0 %, launch 30.0 %."
    assert expected in " ".join(text.split())


def test_long_lists_end_with_how_to_see_the_rest() -> None:
    text = rendered(many())
    assert "… and 290 smaller ones: --all prints them" in text
    assert len([line for line in rendered(many(), everything=True).splitlines() if "saves" in line]) == 300


def test_plan_spells_out_the_experiment_and_what_refutes_it() -> None:
    text = rendered(alloc(), plan=1)
    assert text.count("refuted if the step time does not fall by at least 2 ms") == 1
    assert "expect: step_ns falls by 2.00 ms to 9.00 ms" in text
    assert "numerics: bit-identical results" in text
    assert "\n     stallscope run -- ./train && stallscope diff base.sqlite --to head.sqlite\n" in rendered(
        alloc(), plan=1, width=60
    )


def test_counters_without_timeline_show_causes_inside_kernels() -> None:
    text = rendered(kernels())
    assert "Counters of 2 kernels, no timeline" in text
    assert "kernel.mem.dram (supported, gain 10.0 % – 30.0 % of the kernel, then dram" in text


@pytest.mark.parametrize("name", samples())
@pytest.mark.parametrize("width", [60, 80, 132])
def test_every_line_fits(name: str, width: int) -> None:
    for line in rendered(samples()[name], width=width, plan=2, everything=True).splitlines():
        assert cells(line) <= width or line.startswith(("     ", "  stallscope ")), (
            "only commands to copy may be longer"
        )


@pytest.mark.parametrize("name", samples())
def test_no_character_acts_on_the_terminal(name: str) -> None:
    text = rendered(samples()[name], everything=True).replace("\n", "")
    assert not {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


def test_colour_only_when_asked() -> None:
    assert "\x1b[" not in rendered(alloc())
    coloured = rendered(alloc(), colour=True)
    assert coloured.count("\x1b[") == 2 * coloured.count("\x1b[0m")


def test_bar_shares_out_exactly_its_width() -> None:
    assert bar([(1, "a"), (1, "b"), (0, "c"), (998, "d")], 10) == "ab" + "d" * 8
    assert bar([(0, "a")], 10) == ""


def test_wide_characters_count_twice() -> None:
    assert cells("層norm") == 6
    assert cells(fit("層" * 50, 21)) <= 21
