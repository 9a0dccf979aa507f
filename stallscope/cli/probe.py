"""`stallscope probe`: workloads with a known wait, their capture, and how well stallscope names what was put in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.errors import ToolMissingError, UsageError

if TYPE_CHECKING:
    from stallscope_probes.contract import Family

SAMPLES = "sample_traces"
RUN_ELSEWHERE = "run it where there is a GPU with PyTorch, or with --device cpu to see the logic run"


@click.group("probe")
def command() -> None:
    """Run, capture and score workloads whose wait is known because it was put in on purpose."""


@command.command("list")
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text", help="How to print them.")
def list_(output: str) -> None:
    """List the families and what each variant must and must not set off."""
    from stallscope_probes.catalogue import discover

    families = discover()
    if output == "json":
        import msgspec

        document = {"families": [_described(family) for family in families]}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))
        return
    for family in families:
        click.secho(f"{family.name}: {family.title}", bold=True)
        for variant in family.variants:
            expect = ", ".join(variant.expect) or "nothing"
            click.echo(f"  {variant.role:<6} {variant.name:<24} expects {expect}")


@command.command("run")
@click.argument("names", nargs=-1)
@click.option("--device", type=click.Choice(("cuda", "cpu")), default="cuda", help="cpu runs the logic without a GPU.")
@click.option("--repeats", type=click.IntRange(1), metavar="N", help="Repeats of each variant (default: its own).")
@click.option("--pairs", is_flag=True, help="Time every bad variant against its repair, interleaved, instead.")
@click.option("-o", "--output", metavar="FILE", help="Append the JSON lines to FILE instead of printing them.")
def run(*, names: tuple[str, ...], device: str, repeats: int | None, pairs: bool, output: str | None) -> None:
    """Run variants without a profiler: NAMES are families or FAMILY/VARIANT, none means all. One JSON line each."""
    from stallscope_probes.device.machine import UnavailableError
    from stallscope_probes.run import RunOptions
    from stallscope_probes.session import SessionOptions, run_session

    out = Path(output) if output else None
    options = SessionOptions(device=device, pairs=pairs, run=RunOptions(repeats=repeats), out=out)
    try:
        run_session(_checked(names), options)
    except UnavailableError as reason:
        raise ToolMissingError(str(reason), next_step=RUN_ELSEWHERE) from reason


@command.command("capture")
@click.argument("names", nargs=-1)
@click.option("-o", "--output", default=SAMPLES, metavar="FOLDER", help=f"Folder of the samples (default: {SAMPLES}).")
@click.option("--nsys", metavar="PROGRAM", help="The nsys to record with instead of the one that is found.")
@click.option("--timings/--no-timings", default=True, help="Time the repairs too, without a profiler (default: yes).")
@click.option("--scale", type=click.IntRange(10, 400), default=100, metavar="PERCENT", help="Sizes and durations.")
@click.option("--from", "session", metavar="FOLDER", help="Take the reports of this folder; record nothing.")
def capture(*, names: tuple[str, ...], output: str, session: str | None, nsys: str | None, **how: Any) -> None:
    """Record variants with nsys, in a clean environment, and keep each one's part as a small labelled export.

    --from takes what `python -m stallscope_probes.recording` left on another machine; --scale records the same
    workloads at another size.
    """
    from stallscope_probes.capturing import CaptureOptions, collect
    from stallscope_probes.capturing import capture as record

    from stallscope.ingest.nsys_export import find_nsys

    chosen = _checked(names)
    if session is not None:
        if not Path(session).is_dir():
            raise UsageError("there is no such folder", file=Path(session).name)
        count = collect(Path(session), Path(output), find_nsys(nsys), _tell)
    else:
        count = record(chosen, Path(output), CaptureOptions(nsys, how["timings"], how["scale"], _tell))
    click.echo(f"{count} captures in {output}", err=True)


@command.command("score")
@click.argument("samples", default=SAMPLES)
@click.option("--page", metavar="FILE", help="Write the page for people, Markdown, too.")
@click.option("--write/--no-write", default=True, help="Keep the score as SAMPLES/scoreboard.json (default: yes).")
def score(*, samples: str, page: str | None, write: bool) -> None:
    """Analyze labelled captures and compare: precision and recall by id, confusions, predicted against measured."""
    from stallscope_probes.scoreboard import FILE
    from stallscope_probes.scoreboard import score as judge
    from stallscope_probes.scoreboard_page import page as render

    folder = Path(samples)
    if not folder.is_dir():
        raise UsageError("there is no such folder", file=folder.name, next_step="stallscope probe capture makes one")
    board = judge(folder, _tell)
    text = render(board)
    if write:
        (folder / FILE).write_text(board.to_json(), encoding="utf-8")
    if page is not None:
        Path(page).write_text(text, encoding="utf-8")
    click.echo(text, nl=False)


def _described(family: Family) -> dict[str, object]:
    return {
        "name": family.name,
        "title": family.title,
        "topic": family.topic,
        "variants": [
            {
                "name": variant.name,
                "role": variant.role,
                "params": dict(variant.params),
                "expect": list(variant.expect),
                "must_not": list(variant.must_not),
                "may": list(variant.may),
            }
            for variant in family.variants
        ],
    }


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as given. Raises `UsageError` that lists what there is when one is unknown."""
    from stallscope_probes.catalogue import UnknownProbeError, select

    try:
        select(names)
    except UnknownProbeError as error:
        raise UsageError(str(error), next_step="see `stallscope probe list`") from error
    return names


def _tell(line: str) -> None:
    click.echo(line, err=True)
