"""Who may talk to the dashboard, and what its pages may load.

The server reads traces of the person who started it, so other sites open in the same browser must not reach it: the
Host header has to name this server (against DNS rebinding), an Origin header has to be this server's own, and beyond
loopback every request carries a token of this run.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dash.exceptions import DependencyException
from flask import Flask, Request, Response, make_response, redirect, request

COOKIE = "stallscope_token"
TOKEN_PARAMETER = "token"  # noqa: S105 - the name of a parameter
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

_POLICY = (
    "default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Names under which the server may be addressed; a token when others than this machine can reach it."""

    hosts: tuple[str, ...] = LOOPBACK_NAMES
    token: str = field(default="", repr=False)

    @classmethod
    def for_host(cls, host: str) -> Access:
        """Loopback needs no token; any other address gets a fresh one."""
        if is_loopback(host):
            return cls()
        # A wildcard address is reached under names nobody knows here; the token keeps strangers and other sites out.
        name = f"[{host.strip('[]')}]" if ":" in host else host.lower()
        hosts = () if _is_wildcard(host) else (*LOOPBACK_NAMES, name)
        return cls(hosts, secrets.token_urlsafe(24))


LOOPBACK = Access()
"""Only this machine, no token."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def protect(server: Flask, access: Access, script_hashes: Callable[[], Sequence[str]]) -> None:
    """Check every request and put the headers on every response."""

    @server.before_request
    def check() -> Response | None:
        host = request.headers.get("Host", "")
        if access.hosts and _name(host) not in access.hosts:
            return _refuse("This server does not go by that name.", status=400)
        if not _same_origin(request, host):
            return _refuse("This request came from another site.")
        return _check_token(access) if access.token else None

    @server.errorhandler(DependencyException)
    def unknown(_: DependencyException) -> Response:
        return _refuse("There is no such file.", status=404)  # else a traceback in the log for every odd path

    @server.after_request
    def finish(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        hashes = " ".join(script_hashes())
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(hashes=hashes))
        return response


def _name(host: str) -> str:
    """The name in a Host header, without its port; IPv6 addresses keep their brackets."""
    try:
        found = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return f"[{found}]" if ":" in found else found


def _same_origin(incoming: Request, host: str) -> bool:
    origin = incoming.headers.get("Origin")
    if origin is not None and _netloc(origin) != host:
        return False
    site = incoming.headers.get("Sec-Fetch-Site", "none")
    # A link on another site may open a page; nothing else may come from there, and no form may be sent.
    opens_page = incoming.method in {"GET", "HEAD"} and incoming.headers.get("Sec-Fetch-Mode") == "navigate"
    return site in {"none", "same-origin"} or opens_page


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _check_token(access: Access) -> Response | None:
    given = request.args.get(TOKEN_PARAMETER)
    if given is not None and _is_token(given, access):
        # One leading slash: `//name` would lead to another server.
        response = make_response(redirect("/" + request.path.lstrip("/\\")))
        response.set_cookie(COOKIE, access.token, httponly=True, samesite="Strict")
        return response
    if _is_token(request.cookies.get(COOKIE, ""), access):
        return None
    return _refuse("This dashboard needs the token that its command line printed.")


def _is_token(given: str, access: Access) -> bool:
    """In the same time whatever is given."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), access.token.encode())


def _refuse(why: str, status: int = 403) -> Response:
    return Response(why + "\n", status=status, mimetype="text/plain")
