"""`stallscope numerics`: whether the changed program still computes the same thing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._rendering import STDOUT, takes_colour, terminal_width, write_file
from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.numerics.gate import GateOptions

GATES = ("bit-identical", "kernel")
PRECISIONS = ("fp64", "fp32", "fp32-sequential", "tf32", "fp16", "bf16", "bf16-io", "fp8")
GATE_FAILED = 1


@click.command("numerics")
@click.argument("base")
@click.argument("head", nargs=-1, required=True, metavar="HEAD...")
@click.option(
    "--class", "gate", type=click.Choice(GATES), required=True,
    help="bit-identical: graphs, allocator, copies, prefetch, domains. kernel: tiles, fusion, split-K, precision.",
)  # fmt: skip
@click.option("--reference", metavar="FILE", help="FP64 results of the same inputs, by tensor name.")
@click.option("--operands", metavar="FILE", help="The two factors of a matrix product: gives reference and |A||B|.")
@click.option("--control", metavar="FILE", help="A second run of BASE: does it repeat its own bits?")
@click.option("--precision", type=click.Choice(PRECISIONS), help="What the kernel computes in. Default: by dtype.")
@click.option("--ignore-policy", is_flag=True, help="Only report different precision switches.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), help="Report to write (default: by -o).")
@click.option("-o", "--output", default=STDOUT, metavar="FILE", help="Write to FILE instead of stdout.")
def command(*, base: str, head: tuple[str, ...], gate: Any, format_: str | None, output: str, **flags: Any) -> int:
    """Compare the outputs of a program before (BASE) and after (HEAD) a change; exit 1 when the gate fails.

    Files are .pt, .npz, .npy or .safetensors; several HEAD are repeats of the changed program. Files written by
    stallscope.numerics.policy.save_outputs carry the precision switches, which are compared too.
    """
    from stallscope.numerics.gate import check
    from stallscope.numerics.load import load_outputs

    report = check(load_outputs(Path(base)), [load_outputs(Path(path)) for path in head], gate, _options(flags))
    chosen = format_ or ("json" if output.endswith(".json") else "text")
    if chosen == "json":
        text = report.to_json()
    else:
        from stallscope.reporters.numerics_text import numerics_text

        on_terminal = output == STDOUT
        text = numerics_text(
            report, width=terminal_width() if on_terminal else 80, colour=on_terminal and takes_colour()
        )
    if output == STDOUT:
        sys.stdout.write(text)
    else:
        write_file(Path(output), text)
    return 0 if report.passed else GATE_FAILED


def _options(flags: dict[str, Any]) -> GateOptions:
    from stallscope.numerics.gate import GateOptions, product_of
    from stallscope.numerics.load import load_outputs

    reference, operands, control = (flags[name] for name in ("reference", "operands", "control"))
    try:
        product = product_of(load_outputs(Path(operands))) if operands else None
    except ValueError as error:
        message = f"not the factors of a matrix product: {error}"
        next_step = "save exactly the two matrices A and B"
        raise UsageError(message, file=Path(operands).name, next_step=next_step) from error
    return GateOptions(
        reference=load_outputs(Path(reference)).tensors if reference else {},
        reference_name=Path(reference or operands).name if reference or operands else "",
        product=product,
        control=load_outputs(Path(control)) if control else None,
        precision=flags["precision"],
        ignore_policy=flags["ignore_policy"],
    )
