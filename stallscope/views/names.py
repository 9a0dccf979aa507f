"""Kernel names for people: the function, and for generic kernels the operation that it was instantiated with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_MAX_READ = 8_192
_MAX_DEPTH = 24
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<unnamed>::|\{anonymous\}::|_GLOBAL__N__\w*::")
_TRITON_SIGNATURE = re.compile(r"_?(?:\d+[dc]e?){3,}\d*$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_BRACKETS = {"<": 1, "(": 1, "[": 1, "{": 1, ">": -1, ")": -1, "]": -1, "}": -1}

# Frames of a library that say nothing about the operation: the name lies in their template arguments.
_GENERIC = re.compile(r"\w*elementwise\w*kernel\w*|reduce_kernel|multi_tensor_apply_kernel")
_SHELL = re.compile(r"Kernel2?|device_kernel|static_kernel|_kernel_agent|enable_sm\d+\w*")
_WRAPPER = re.compile(r"gpu_kernel_impl\w*|[AB]UnaryFunctor|BinaryFunctor|ReduceOp|func_wrapper_t|\w+_and_transform")
_TYPE = re.compile(
    r"""bool|char|short|int|long|(un)?signed|float[24]?|double|half|u?int[24]|size_t|true|false|const|std|array|Array
    |BFloat16|Half|complex|OpaqueType|\w*OffsetCalculator|(Load|Store)With(out)?Cast|\w*Metadata|CUDAGeneratorImpl
    |curandState\w*|TensorIterator\w*""",
    re.VERBOSE,
)


@lru_cache(maxsize=4_096)
def short_kernel(name: str, limit: int = 0) -> str:
    """`void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps<…>>>(…)` is `reduce_kernel<MeanOps>`.

    Return type, namespaces, template arguments and parameters go; a name that is no C++ signature stays as it is.
    With a `limit` the middle of a longer name is left out, because both ends of a GEMM name carry information.
    """
    short = _of_mangled(name[:_MAX_READ]) if name.startswith("_Z") else _of_signature(name[:_MAX_READ])
    return elided(short, limit) if limit else short


def elided(text: str, limit: int) -> str:
    """At most `limit` characters, the middle left out."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def _of_signature(name: str) -> str:
    head, arguments = _split(_ANONYMOUS.sub("", name))
    base = _last_part(head)
    if not _IDENTIFIER.fullmatch(base) or not _is_signature(head, name):
        return name
    if _SHELL.fullmatch(base):
        return next(_operations(arguments), base)
    if _GENERIC.fullmatch(base):
        operations = list(dict.fromkeys(_operations(arguments)))[:2]
        return f"{base}<{', '.join(operations)}>" if operations else base
    return _TRITON_SIGNATURE.sub("", base) or base


def _is_signature(head: str, name: str) -> bool:
    """A C++ name stands directly before its bracket; `Memcpy HtoD (Pageable -> Device)` and plain words are labels."""
    return not head[-1].isspace() and (" " not in head.strip() or len(head) < len(name))


def _of_mangled(name: str) -> str:
    """The last identifier of an Itanium-mangled function name."""
    position = re.match(r"_ZN?K?", name)
    at, last = position.end() if position else 0, name
    while length := re.compile(r"\d+").match(name, at):
        at = length.end() + int(length[0])
        part = name[length.end() : at]
        last = last if part.startswith("_GLOBAL__N_") else part
    return last


def _operations(arguments: str, depth: int = 0) -> Iterator[str]:
    """Names in template arguments that say what is computed, outermost first."""
    if depth > _MAX_DEPTH:
        return
    for argument in _arguments(arguments):
        head, inner = _split(argument)
        part = _last_part(head)
        if _WRAPPER.fullmatch(part) or _SHELL.fullmatch(part):
            yield from _operations(inner, depth + 1)
        elif _IDENTIFIER.fullmatch(part) and not _TYPE.fullmatch(part):
            yield part


def _split(text: str) -> tuple[str, str]:
    """What stands before the first bracket, and the template arguments in it (none when it opens parameters)."""
    opening = re.search(r"[<(\[{]", text)
    if opening is None:
        return text, ""
    head = text[: opening.start()]
    return head, text[opening.end() : _closing(text, opening.start())] if opening[0] == "<" else ""


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += 0 if text[at - 1 : at + 1] == "->" else _BRACKETS.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def _arguments(text: str) -> Iterator[str]:
    depth = begin = 0
    for at, character in enumerate(text):
        depth += _BRACKETS.get(character, 0)
        if character == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()


def _last_part(head: str) -> str:
    words = head.split()
    return words[-1].rpartition("::")[2] if words else ""
