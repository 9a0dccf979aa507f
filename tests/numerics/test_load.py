from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from stallscope.errors import InputError
from stallscope.numerics.load import load_outputs
from stallscope.numerics.policy import current_policy, policy_differences, save_outputs
from stallscope.numerics.tensor import from_numpy


def write_safetensors(path: Path, header: dict[str, object], data: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_npz_and_npy(tmp_path: Path) -> None:
    np.savez(tmp_path / "o.npz", x=np.arange(3.0), y=np.array([[1, 2]], np.int32))
    found = load_outputs(tmp_path / "o.npz")
    assert found.tensors["x"].float64().tolist() == [0, 1, 2]
    assert (found.tensors["y"].dtype, found.tensors["y"].shape) == ("int32", (1, 2))
    np.save(tmp_path / "o.npy", np.float16([0.5]))
    assert load_outputs(tmp_path / "o.npy").tensors["output"].float64().tolist() == [0.5]


def test_safetensors_without_a_library(tmp_path: Path) -> None:
    one, bf16 = np.float32([1.5, -2]), np.array([0x3F80, 0xC000], "<u2")
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "BF16", "shape": [2, 1], "data_offsets": [8, 12]},
    }
    found = load_outputs(write_safetensors(tmp_path / "o.safetensors", header, one.tobytes() + bf16.tobytes()))
    assert found.tensors["a"].float64().tolist() == [1.5, -2]
    assert found.tensors["b"].float64().tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "X9", "shape": [2], "data_offsets": [0, 8]},
        {"shape": [2]},
    ],
)
def test_damaged_safetensors_is_refused(tmp_path: Path, entry: dict[str, object]) -> None:
    path = write_safetensors(tmp_path / "bad.safetensors", {"a": entry}, b"\0" * 8)
    with pytest.raises(InputError) as caught:
        load_outputs(path)
    assert caught.value.file == "bad.safetensors"


@pytest.mark.parametrize("content", [b"", b"not tensors", b"\x93NUMPY", b"PK\x03\x04rest"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(InputError):
        load_outputs(tmp_path / "x.pt")


def test_object_arrays_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError):
        load_outputs(tmp_path / "o.npy")


def test_every_float8_code_has_its_published_value() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: float8 values are checked against it")
    from stallscope.numerics.load import _from_torch

    codes = torch.arange(256, dtype=torch.uint8)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        tensor = codes.view(dtype)
        expected = tensor.to(torch.float64).numpy()
        np.testing.assert_array_equal(_from_torch(tensor).float64(), expected)


def test_torch_file_keeps_dtypes_names_and_policy(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: .pt files need it")
    tensors = {"logits": torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16), "deep": [torch.tensor([3])]}
    save_outputs(tmp_path / "o.pt", tensors, compiler_flags="-O3 --use_fast_math")
    found = load_outputs(tmp_path / "o.pt")
    assert {name: (t.dtype, t.shape) for name, t in found.tensors.items()} == {
        "logits": ("bfloat16", (1, 2)),
        "deep.0": ("int64", (1,)),
    }
    assert found.policy is not None
    assert found.policy["fast_math"] == "use_fast_math"
    assert found.policy["matmul.allow_tf32"] == "False"


class Payload:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("this must never run",)


def test_torch_file_with_code_is_refused_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: .pt files need it")
    torch.save({"x": Payload()}, tmp_path / "evil.pt")
    with pytest.raises(InputError, match="more than plain tensors"):
        load_outputs(tmp_path / "evil.pt")
    assert "never run" not in capsys.readouterr().out


def test_negative_zero_has_other_bits_than_zero() -> None:
    assert from_numpy(np.float32([0.0])).different_bits(from_numpy(np.float32([-0.0]))).tolist() == [True]


def test_complex_elements_are_compared_whole() -> None:
    left, right = from_numpy(np.complex128([1 + 2j, 3])), from_numpy(np.complex128([1 + 2j, 4]))
    assert left.different_bits(right).tolist() == [False, True]


def test_policy_records_only_listed_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    policy = current_policy()
    assert policy["NVIDIA_TF32_OVERRIDE"] == "0"
    assert "hunter2" not in str(policy)


def test_unset_variable_differs_from_a_set_one_but_an_unknown_switch_says_nothing() -> None:
    base, head = {"cudnn.benchmark": "True"}, {"NVIDIA_TF32_OVERRIDE": "1"}
    assert [(d.switch, d.base, d.head) for d in policy_differences(base, head)] == [
        ("NVIDIA_TF32_OVERRIDE", "unset", "1")
    ]
    assert policy_differences(None, head) == ()
