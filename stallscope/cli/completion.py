"""`stallscope completion`: tab completion for a shell."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for SHELL.

    \b
    bash:  eval "$(stallscope completion bash)"
    zsh:   eval "$(stallscope completion zsh)"
    fish:  stallscope completion fish > ~/.config/fish/completions/stallscope.fish
    """  # noqa: D301 - click keeps a paragraph as written after a backspace character
    from click.shell_completion import get_completion_class

    from stallscope.cli.main import COMPLETION_VARIABLE, PROGRAM

    kind = get_completion_class(shell)
    if kind is None:
        ctx.fail(f"no completion for {shell}")
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, COMPLETION_VARIABLE).source())
