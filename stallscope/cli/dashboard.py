"""`stallscope dashboard`: browse what waited, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stallscope.cli._analysis import load_settings
from stallscope.errors import ToolMissingError, UsageError

DEFAULT_PORT = 8050


@click.command("dashboard")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--port", default=DEFAULT_PORT, show_default=True, help="Port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--allow-remote", is_flag=True, help="Let --host be more than this machine; the printed URL has a token.")
@click.option("--browser/--no-browser", default=False, help="Open the page in a browser.")
@click.option("--nsys", metavar="PROGRAM", help="The nsys that exports .nsys-rep files.")
@click.option("--cache/--no-cache", default=None, help="Keep exports and columns for the next time (default: yes).")
def command(paths: tuple[Path, ...], *, port: int, host: str, allow_remote: bool, **flags: Any) -> None:
    """Browse what waited, and why, in a browser.

    PATHs are traces, saved reports and Nsight Compute results; nothing else is ever opened. The page is usable at
    once, traces load in the background. Stop it with Ctrl-C.
    """
    try:
        from stallscope_dashboard.app import create_app
        from stallscope_dashboard.loading import Loader
        from stallscope_dashboard.security import Access, is_loopback
        from stallscope_dashboard.server import Address, Server
        from stallscope_dashboard.sources import runs_of
        from stallscope_dashboard.workspace import Workspace

        from stallscope.ingest.open import OpenOptions
    except ModuleNotFoundError as error:
        raise ToolMissingError(
            f"the dashboard needs {error.name}", next_step="pip install 'stallscope[dashboard]'"
        ) from error
    if not is_loopback(host) and not allow_remote:
        raise UsageError(
            f"--host {host} would show your traces to other machines",
            next_step="add --allow-remote if that is wanted, or keep loopback and use ssh -L",
        )
    chosen = load_settings({"nsys": flags["nsys"], "cache": flags["cache"]})
    opening = OpenOptions(chosen.nsys, chosen.cache, chosen.cache_dir)
    workspace = Workspace(runs_of(paths), Loader(opening))
    access = Access.for_host(host)
    server = Server(create_app(workspace, access), Address(host, port), access)
    click.echo(server.url)
    workspace.start()
    if flags["browser"]:
        click.launch(server.url)
    server.run()
