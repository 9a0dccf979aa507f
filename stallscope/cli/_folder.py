"""The group of all commands, found by file name and imported when asked for."""

from __future__ import annotations

import difflib
from importlib import import_module
from pkgutil import iter_modules

import click

PACKAGE = "stallscope.cli"


class CommandFolder(click.Group):
    """A command group whose commands are the modules of `stallscope.cli`; adding a command is adding a file."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names of the commands, in alphabetical order."""
        return sorted(_command_modules())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command, imported now; None when there is no such file."""
        module = _command_modules().get(cmd_name)
        if module is None:
            return None
        command: click.Command = import_module(f"{PACKAGE}.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a command name that is not there."""
        if args and not args[0].startswith("-") and args[0] not in _command_modules():
            close = difflib.get_close_matches(args[0], _command_modules(), n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


def _command_modules() -> dict[str, str]:
    folder = import_module(PACKAGE).__path__
    names = [module.name for module in iter_modules(folder) if not module.ispkg]
    return {name.replace("_", "-"): name for name in names if not name.startswith("_") and name != "main"}
