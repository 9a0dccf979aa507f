from __future__ import annotations

import json
from pathlib import Path

import pytest
from stallscope_probes import ranks

torch = pytest.importorskip("torch", reason="the probes need PyTorch")


def test_two_processes_reduce_and_the_late_rank_holds_both_up(tmp_path: Path) -> None:
    out = tmp_path / "ranks.jsonl"
    arguments = ["late_sleep", "--backend", "gloo", "--repeats", "3", "--out", str(out)]
    assert ranks.main(arguments) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert sorted(line["rank"] for line in lines) == [0, 1]
    assert all(line["sum_is_right"] for line in lines)
    assert all(line["elapsed_ns"] >= 3 * 1_500_000 for line in lines)


def test_too_few_gpus_are_a_reason_not_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.device_count() >= 64:
        pytest.skip("this machine has that many GPUs")
    assert ranks.main(["exposed", "--world", "64"]) == 4
    assert "64 ranks need 64 GPUs" in capsys.readouterr().err


def test_unknown_variant_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert ranks.main(["nothing_like_it"]) == 2
    assert "there are: exposed" in capsys.readouterr().err
