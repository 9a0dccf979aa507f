"""`stallscope rules`: every wait this installation looks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stallscope.waits.base import Rule

LAYERS = {
    "kernel": "inside kernels",
    "busy": "only copies or communication run",
    "idle": "the device is idle",
    "beside": "behind a busy device, not charged",
    "note": "explains, not charged",
}


@click.command("rules")
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text", help="How to print them.")
def command(output: str) -> None:
    """List the waits this installation looks for, third-party ones included."""
    from stallscope.waits.catalogue import all_rules

    rules = all_rules()
    if output == "json":
        _print_json(rules)
        return
    width = max(len(rule.meta.id) for rule in rules)
    for layer, meaning in LAYERS.items():
        members = [rule for rule in rules if rule.meta.layer == layer]
        if members:
            click.secho(f"{meaning}:", bold=True)
        for rule in members:
            click.echo(f"  {rule.meta.id:<{width}}  {rule.meta.title}")
    click.echo("\nOne of them in full: stallscope explain ID")


def _print_json(rules: tuple[Rule, ...]) -> None:
    import msgspec

    rows = [
        {
            "id": rule.meta.id,
            "title": rule.meta.title,
            "layer": rule.meta.layer,
            "needs": [table.__name__ for table in rule.meta.needs],
            "docs": rule.meta.docs,
        }
        for rule in rules
    ]
    click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2))
