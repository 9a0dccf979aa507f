"""`stallscope scrub`: a copy of a trace that may be shared."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("scrub")
@click.argument("trace")
@click.option("-o", "--output", required=True, metavar="OUT", help="Where the copy goes; it must not exist yet.")
def command(trace: str, output: str) -> None:
    """Copy TRACE without environment, host, user, command line, absolute paths and program output.

    TRACE is an export of nsys: a .sqlite file, or a Parquet or Arrow folder. Only tables, columns and rows on a list
    travel; kernel, call and NVTX names do, so look at those yourself. A .nsys-rep report cannot be scrubbed.
    """
    from stallscope.ingest.nsys_scrub import scrub

    result = scrub(Path(trace), Path(output))
    changed = f", {result.changed_texts:,} texts changed" if result.changed_texts else ""
    click.echo(f"wrote {output}: {len(result.kept)} tables kept, {len(result.dropped)} left behind{changed}", err=True)
