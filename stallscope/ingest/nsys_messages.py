"""Messages that nsys stored in a report, reduced to words that nsys uses: they may name users, hosts and programs."""

from __future__ import annotations

import re

_VOCABULARY = """
    a about above access activity additional after all allocate allocated allocation allocations already also an and
    any are argument as at attached available back be because been before below between bufer buffer buffers but by
    calls can cannot capture captured card cause check clock collect collected collecting collection common compute
    configuration context contexts could couldn't counters cpu created cublas cuda cudnn cupti data device devices
    did didn't disabled do does doesn't don't driver drivers drop dropped due duration during each enable enabled
    encountered end ended enough environment error errors event events exceeded exceeds exited expected fail failed
    failure feature few file files find finished first flush flushed flushing for found frame from full function get
    gpu gpus graph graphs had hardware has have high host hw if in incomplete increase info information
    initialization initialize initialized injected injection input installed instead instrumented insufficient
    internal invalid is issue it its kernel kernels large last late launch launched legacy less libraries library
    limit limited limits linux load loaded local long lost low made make many may memory message messages metrics
    might missing mode module more most mpi must nccl no none not number nvidia nvlink nvtx of old on one only open
    or os osrt other out output overflow overflowed overhead package page partial peer permission permissions please
    point possible previous privileges process processes profile profiled profiler profiling program python range
    ranges rate reached read reason receive received record recorded records reduce reduced report reported request
    requested require required requires resource resources result results root run running runtime sample samples
    sampling scheduling second seconds section see sent session set setting settings short should signal size
    skipped slow small software some source start started state status stop stopped stopping stream streams sub
    success successfully such support supported switch switches sync synchronization system target tegra than that
    the their them then there these they this thread threads time timeout times timestamp timestamps to too tool
    tools total trace traced traces tracing truncated try type unable unavailable unexpected unified unknown unload
    unsupported until up update updated use used user using uvm value version versions was we were when which while
    will with within without write writing wrong you your
"""
_WORDS = frozenset(_VOCABULARY.split())
PATH = "<path>"
"""What stands for a path that was taken out."""

_TOKEN = re.compile(r"\S+")
_EDGES = ".,:;!?()[]{}\"'`"
_NUMBER = re.compile(r"[+-]?\d[\d.,:%/-]*(?:[kmgt]?i?b|ns|us|ms|s)?", re.IGNORECASE)
_HIDDEN = re.compile(r"…(?:\s+…)+")


def public(message: str) -> str:
    """The message with `…` for everything that is neither a number nor a word of nsys."""
    return _HIDDEN.sub("…", _TOKEN.sub(lambda token: _shown(token[0]), message))


def _shown(token: str) -> str:
    word = token.strip(_EDGES).lower()
    parts = re.split(r"[-/]", word)
    known = not word or token.strip(_EDGES) == PATH or _NUMBER.fullmatch(word) or all(part in _WORDS for part in parts)
    return token if known else "…"
