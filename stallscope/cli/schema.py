"""`stallscope schema`: the shape of the JSON document."""

from __future__ import annotations

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the analysis document."""
    from stallscope import schema

    click.echo(schema.text(), nl=False)
