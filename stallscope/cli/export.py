"""`stallscope export`: the timeline for other tools."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._scope import time_range
from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.export.selection import Selection
    from stallscope.views.lanes import LaneTable

TARGETS = ("perfetto", "csv", "parquet")
STDOUT = "-"
GZIP_LEVEL = 6


@click.command("export")
@click.argument("path")
@click.option("--to", "target", type=click.Choice(TARGETS), required=True, help="What to write.")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to. perfetto: a name in .gz is compressed.")
@click.option("--range", "range_ns", callback=time_range, metavar="A:B", help="Only this time, like 1.2s:1.5s.")
@click.option("--nvtx", metavar="NAME", help="Account only for the time inside the NVTX ranges of this name.")
@click.option("--device", type=click.IntRange(0), metavar="N", help="Only this GPU, by its number in the trace.")
@click.option("--max-events", type=click.IntRange(1), metavar="N", help="Largest number of intervals in the file.")
@click.option("--nsys", metavar="PROGRAM", help="The nsys that exports .nsys-rep files.")
@click.option("--cache/--no-cache", default=None, help="Keep exports and columns for the next time (default: yes).")
def command(*, path: str, target: str, output: str, **flags: Any) -> None:
    """Write the timeline of a trace, with its waits as tracks or rows.

    perfetto: a trace for ui.perfetto.dev, by default the 500,000 intervals that wait most; each wait has a flow to the
    launch that ended it. csv and parquet: one row an interval of every lane.
    """
    from stallscope.cli._analysis import examine, load_settings
    from stallscope.export.selection import MAX_EVENTS, select
    from stallscope.model.scope import Scope
    from stallscope.views.charges import charges_of
    from stallscope.views.lane_build import build_lanes

    chosen = load_settings(flags)
    scope = Scope(nvtx=chosen.nvtx, device=flags["device"])
    examination = examine(path, chosen, scope)
    table = build_lanes(examination.timeline, charges_of(examination.timeline, examination.charges))
    unlimited = len(table) if target != "perfetto" else MAX_EVENTS
    selection = select(table, _window(table, flags["range_ns"]), flags["max_events"] or max(unlimited, 1))
    if not len(selection.rows):
        raise UsageError("there is nothing in this part of the trace", file=Path(path).name, next_step="widen --range")
    findings = {finding.wait: finding.id for finding in examination.analysis.findings}
    _WRITERS[target](table, selection, output, findings)
    _tell(output, selection)


def _window(table: LaneTable, asked: tuple[int, int] | None) -> tuple[int, int] | None:
    if asked is None:
        return None
    low, high = table.span_ns
    return max(low, asked[0]), min(high, asked[1])


def _perfetto(table: LaneTable, selection: Selection, output: str, findings: Mapping[str, str]) -> None:
    from stallscope.export.perfetto import write_perfetto

    if output == STDOUT:
        write_perfetto(table, selection, sys.stdout.buffer, findings)
        return
    with _replaced(output) as file:
        packed = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=GZIP_LEVEL, mtime=0, filename="")
        with packed if output.endswith(".gz") else nullcontext(file) as out:
            write_perfetto(table, selection, out, findings)  # type: ignore[arg-type]


def _csv(table: LaneTable, selection: Selection, output: str, _findings: Mapping[str, str]) -> None:
    from stallscope.export.rows import frame, write_csv

    if output == STDOUT:
        write_csv(frame(table, selection), sys.stdout.buffer)
        return
    with _replaced(output) as file:
        write_csv(frame(table, selection), file)


def _parquet(table: LaneTable, selection: Selection, output: str, _findings: Mapping[str, str]) -> None:
    from stallscope.export.rows import frame, write_parquet

    if output == STDOUT:
        raise UsageError("Parquet does not go to a terminal or a pipe", next_step="give -o FILE")
    with _replaced(output) as file:
        write_parquet(frame(table, selection), file)


_WRITERS: dict[str, Callable[[LaneTable, Selection, str, Mapping[str, str]], None]] = {
    "perfetto": _perfetto,
    "csv": _csv,
    "parquet": _parquet,
}


def _replaced(output: str) -> Any:
    from stallscope.cli._files import replaced

    return replaced(Path(output))


def _tell(output: str, selection: Selection) -> None:
    span = f"{selection.low_ns / 1e9:.6f}s:{selection.high_ns / 1e9:.6f}s"
    part = f", the part that waits most of {selection.total:,} (choose with --range)" if selection.chosen else ""
    where = "" if output == STDOUT else f"wrote {output}: "
    click.echo(f"{where}{len(selection.rows):,} intervals of {span}{part}", err=True)
