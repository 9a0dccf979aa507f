"""Errors a user can act on: what happened, which file, what to do next."""

from __future__ import annotations


class StallscopeError(Exception):
    """Base of every expected failure; the command line prints it and exits with `exit_code`."""

    exit_code = 70

    def __init__(self, what: str, *, file: str | None = None, next_step: str | None = None) -> None:
        self.what = what
        self.file = file
        self.next_step = next_step
        super().__init__(what)

    def __str__(self) -> str:
        parts = [f"{self.file}: {self.what}" if self.file else self.what]
        if self.next_step:
            parts.append(f"→ {self.next_step}")
        return "\n".join(parts)


class UsageError(StallscopeError):
    """The command line or the configuration is wrong."""

    exit_code = 2


class InputError(StallscopeError):
    """The input cannot be read: corrupt, truncated, empty, foreign, unsupported, no permission."""

    exit_code = 3


class ToolMissingError(StallscopeError):
    """A tool the job needs (nsys, ncu) is not installed."""

    exit_code = 4


class InconclusiveError(StallscopeError):
    """The data does not decide (only with --strict)."""

    exit_code = 5
