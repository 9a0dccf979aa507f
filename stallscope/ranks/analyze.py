"""From paths to one analysis of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from stallscope.api import Options
from stallscope.errors import InputError
from stallscope.ingest.paths import rank_files
from stallscope.model.analysis import Analysis, CaptureNote
from stallscope.ranks.cluster import examine_all
from stallscope.ranks.merge import Ranked, merged
from stallscope.ranks.task import Examine, Outcome, RankFailure, RankReport, examine_file
from stallscope.waits.ranks.base import Ranks, RankSummary
from stallscope.waits.ranks.runner import compare

Progress = Callable[[str, "float | None"], None]
"""Told the stage and the finished share of it."""

FAILED_RANK = "env.failed_rank"
RANK_ORDER = "env.rank_order"
SAME_RANK = "env.same_rank"


def analyze_ranks(paths: Sequence[Path], options: Options) -> Analysis:
    """Diagnose several traces as the ranks of one run, on the scheduler or in as many processes as pay off.

    Raises what `compare_ranks` raises.
    """
    quiet = replace(options, opening=replace(options.opening, progress=None))  # a progress bar cannot travel
    return compare_ranks(
        rank_files(paths),
        partial(examine_file, options=quiet),
        scheduler=options.scheduler,
        everything=options.everything,
        progress=options.opening.progress,
    )


def compare_ranks(  # noqa: PLR0913 - keyword options of one call
    paths: Sequence[Path],
    examine: Examine,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    everything: bool = False,
    progress: Progress | None = None,
) -> Analysis:
    """Diagnose every rank with `examine`, compare them, and merge all into one analysis.

    The result is the same wherever the ranks were examined. A rank that cannot be read is told as a note and left out;
    `InputError` is raised when that leaves none, `UsageError` when no scheduler answers.
    """
    outcomes: dict[int, Outcome] = {}
    for position, outcome in examine_all(examine, paths, scheduler, workers):
        outcomes[position] = outcome
        if progress is not None:
            progress(f"{paths[position].name} ({len(outcomes)} of {len(paths)})", len(outcomes) / len(paths))
    reports = {p: o for p, o in sorted(outcomes.items()) if isinstance(o, RankReport)}
    failures = {p: o for p, o in sorted(outcomes.items()) if isinstance(o, RankFailure)}
    if not reports:
        first = min(failures)
        raise InputError(failures[first].what, file=paths[first].name, next_step=failures[first].next_step)
    copies = _copies(reports)
    ranked, notes = _numbered({p: report for p, report in reports.items() if p not in copies})
    same = (_left_out(SAME_RANK, paths, p, f"it holds the same as {paths[first].name}") for p, first in copies.items())
    failed = (_left_out(FAILED_RANK, paths, p, failure.what) for p, failure in failures.items())
    notes += [*same, *failed]
    ranks = Ranks(tuple(s for rank in ranked for s in rank.summaries))
    return merged(ranked, compare(ranks, everything=everything), tuple(notes), everything=everything)


def _copies(reports: dict[int, RankReport]) -> dict[int, int]:
    """Positions of files that hold the same as one before them, and of that one: two ranks never wrote the same."""
    content = {position: report.analysis.sources[0].sha256 for position, report in reports.items()}
    first = {sha256: position for position, sha256 in reversed(content.items())}
    return {position: first[sha256] for position, sha256 in content.items() if first[sha256] != position}


def _numbered(reports: dict[int, RankReport]) -> tuple[list[Ranked], list[CaptureNote]]:
    """Ranks by the number in their files, or by the order given where files tell none or the same one twice."""
    told = {position: report.analysis.sources[0].rank for position, report in reports.items()}
    known = [rank for rank in told.values() if rank is not None]
    unique = len(known) == len(told) and len(set(known)) == len(known)
    notes = []
    if known and not unique and len(reports) > 1:
        message = "the traces do not tell distinct ranks: they are numbered in the order given"
        notes.append(CaptureNote(id=RANK_ORDER, message=message))
    numbers = {p: rank for p, rank in told.items() if rank is not None} if unique else {p: p for p in reports}
    ranked = [_ranked(numbers[position], report) for position, report in reports.items()]
    return sorted(ranked, key=lambda r: r.rank), notes


def _ranked(rank: int, report: RankReport) -> Ranked:
    """The report under its rank's name: devices become `rank 5 GPU 0`."""
    several = len(report.analysis.devices) > 1
    summaries = tuple(_named(summary, rank, several=several) for summary in report.summaries)
    sources = tuple(msgspec.structs.replace(source, rank=rank) for source in report.analysis.sources)
    return Ranked(rank, msgspec.structs.replace(report.analysis, sources=sources), summaries)


def _named(summary: RankSummary, rank: int, *, several: bool) -> RankSummary:
    label = f"rank {rank} {summary.device}" if several else f"rank {rank}"
    return replace(summary, rank=rank, label=label, device=f"rank {rank} {summary.device}")


def _left_out(note: str, paths: Sequence[Path], position: int, why: str) -> CaptureNote:
    return CaptureNote(id=note, message=f"{paths[position].name} (trace {position + 1}) was left out: {why}")
