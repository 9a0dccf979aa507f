"""Structure-aware damage to PyTorch traces: values, types, keys, nesting, text and gzip."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from random import Random
from typing import Any

import kineto_text
import ncu_mutations
from mutate_values import BLOBS, FLOATS, TEXTS, integer

Document = dict[str, Any]
CATEGORIES = (
    *("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync", "cpu_op", "user_annotation"),
    *("gpu_user_annotation", "python_function", "overhead", "ac2g", "Trace", "hpu_op", "mtia_ccp", "", "Kernel"),
)


def template(seed: int) -> Document:
    """A small whole trace: launches, kernels, a copy, operators, annotations, collectives, syncs."""
    random = Random(seed)  # noqa: S311
    events: list[Document] = []
    for at in range(random.choice((2, 11, 25))):
        events.append(kineto_text.call(at * 10 + 1, 2, at + 1, name=random.choice(TEXTS[-5:])))
        events.append(kineto_text.kernel(at * 10 + 4, random.choice((2.125, 5, 8)), at + 1, **{"External id": at}))
    group = {"Collective name": "allreduce", "Process Group Ranks": "[0, 1]", "Seq": 3, "dtype": "Float"}
    events.append(kineto_text.kernel(300, 9, 77, name="ncclDevKernel_AllReduce", **group, **{"In msg nelems": 12}))
    events.append(kineto_text.event("cpu_op", "aten::mm", 1, 9, **{"External id": 1}))
    events.append(kineto_text.event("user_annotation", "ProfilerStep#1", 0.5, 200))
    place = {"stream": 7, "device": 0}
    events.append(kineto_text.event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 320, 4, bytes=64, **place))
    events.append(kineto_text.event("cuda_sync", "Stream Sync", 330, 4, cuda_sync_kind="Stream Sync", **place))
    events.append({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}})
    events.append({"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"})
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "G", "numSms": 132}],
        "distributedInfo": {"rank": 1},
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": events,
        "traceName": "/home/me/x",
    }


def mutate(document: Document, seed: int) -> bytes:
    """One damaged copy as bytes; the same for the same seed."""
    random = Random(seed)  # noqa: S311
    damaged = copy.deepcopy(document)
    kind = random.random()
    if kind < 0.7:
        for _ in range(random.choice((1, 1, 2, 4))):
            random.choice(CHANGES)(damaged, random)
    text = json.dumps(damaged, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    if 0.55 < kind < 0.95:
        text = ncu_mutations.mutate(text, seed)
    if kind > 0.8:
        text = gzip.compress(text, 1)
        text = ncu_mutations.mutate(text, seed) if kind > 0.9 else text
    return text


def _odd(random: Random) -> Any:
    simple: tuple[Any, ...] = (None, True, [], {}, [[]], {"a": {"b": [1]}}, [1, 2, 3], "0x7f", "stream 7", -0.0)
    return random.choice((integer(random), random.choice(TEXTS), random.choice(FLOATS), random.choice(simple)))


def _list(document: Document) -> list[Any]:
    events = document.get("traceEvents")
    return events if isinstance(events, list) else []


def _event(document: Document, random: Random) -> Document:
    events = [event for event in _list(document) if isinstance(event, dict)]
    found: Document = random.choice(events) if events else {}
    return found


def _value(document: Document, random: Random) -> None:
    event = _event(document, random)
    arguments = event.get("args")
    place = arguments if isinstance(arguments, dict) and arguments and random.random() < 0.6 else event
    if place:
        place[random.choice(sorted(place))] = _odd(random)


def _key(document: Document, random: Random) -> None:
    event = _event(document, random)
    if event and random.random() < 0.6:
        event.pop(random.choice(sorted(event)))
    elif event:
        event[random.choice(("args", "ts", "dur", "cat", *TEXTS))] = _odd(random)


def _category(document: Document, random: Random) -> None:
    _event(document, random)["cat"] = random.choice(CATEGORIES)


def _times(document: Document, random: Random) -> None:
    shift = random.choice((*FLOATS, 1.7e15, -5e5, 9_007_199_254_740_993, 1e-7))
    for event in _list(document):
        if isinstance(event, dict) and isinstance(event.get("ts"), (int, float)):
            event["ts"] += shift


def _header(document: Document, random: Random) -> None:
    key = random.choice((*sorted(document), "deviceProperties", "distributedInfo", "cuda_driver_version", "nodes"))
    if random.random() < 0.3:
        document.pop(key, None)
    else:
        document[key] = random.choice((_odd(random), [_odd(random)], [{"id": _odd(random)}], {"rank": _odd(random)}))


def _events(document: Document, random: Random) -> None:
    events = document.get("traceEvents")
    if isinstance(events, list) and events:
        at = random.randrange(len(events))
        events[at] = random.choice((_odd(random), BLOBS[1].decode("latin-1"), [events[at]], events[at - 1]))
        random.choice(
            (events.reverse, lambda: events.extend(events[:3]), lambda: events.__delitem__(slice(at, None)))
        )()


def _deep(document: Document, random: Random) -> None:
    nested: Any = 1
    for _ in range(random.choice((10, 200, 900))):
        nested = [nested] if random.random() < 0.5 else {"args": nested}
    _event(document, random)["args"] = {"deep": nested}


CHANGES: tuple[Callable[[Document, Random], None], ...] = (
    *(_value, _value, _value, _value, _key, _key, _category, _times, _header, _events, _deep),
)
