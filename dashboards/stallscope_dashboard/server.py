"""Serves the dashboard until it is interrupted."""

from __future__ import annotations

import errno
import logging
import signal
import socket
from dataclasses import dataclass
from types import FrameType

from dash import Dash
from waitress.server import create_server

from stallscope.errors import UsageError
from stallscope_dashboard.security import TOKEN_PARAMETER, Access

THREADS = 8
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - compared with, never bound by default


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens; port 0 takes any free port."""

    host: str = "127.0.0.1"
    port: int = 0


class Server:
    """The dashboard bound to an address. The port is taken at construction, before anything is loaded or printed.

    Raises `UsageError` when the port is in use or not allowed, or the host is not an address of this machine.
    """

    def __init__(self, app: Dash, address: Address, access: Access) -> None:
        # waitress warns about its own queue while a burst of tiles is served; that is no news for a user.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._access = access
        self._host = address.host
        self._socket = _bound(address)
        self.port: int = self._socket.getsockname()[1]
        self._server = create_server(app.server, sockets=[self._socket], threads=THREADS, ident=None)

    @property
    def url(self) -> str:
        """The address to open, with the token when there is one."""
        host = socket.gethostname() if self._host in _WILDCARDS else self._host
        host = f"[{host}]" if ":" in host else host
        token = f"?{TOKEN_PARAMETER}={self._access.token}" if self._access.token else ""
        return f"http://{host}:{self.port}/{token}"

    def run(self) -> None:
        """Serve until Ctrl-C or SIGTERM; both return normally."""
        previous = signal.signal(signal.SIGTERM, _stop)
        try:
            self._server.run()
        except (KeyboardInterrupt, SystemExit):
            self._server.close()
        finally:
            signal.signal(signal.SIGTERM, previous)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host.strip("[]"), address.port), family=family)
    except OverflowError as error:
        raise UsageError(f"{address.port} is not a port", next_step="choose a port from 1 to 65535, or 0") from error
    except OSError as error:
        raise _bind_error(error, address) from error


def _bind_error(error: OSError, address: Address) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"port {address.port} is in use",
            next_step="stop what uses it, or choose another: --port 0 takes a free one",
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return UsageError(f"port {address.port} is reserved", next_step="choose a port above 1023, or --port 0")
    return UsageError(
        f"cannot listen on {address.host}",
        next_step="give an address of this machine, or leave --host out for loopback",
    )
