"""Lines for a terminal: fitted to its width, coloured when it can, free of anything a trace could smuggle in."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from stallscope.reporters.escape import visible

COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(slots=True)
class Paper:
    """Lines in the making, at most `width` cells wide. Text given to `line` and `prose` is made visible here."""

    width: int = 80
    colour: bool = False
    lines: list[str] = field(default_factory=list)

    def blank(self) -> None:
        """An empty line."""
        self.lines.append("")

    def heading(self, text: str) -> None:
        """A section's title after an empty line."""
        self.blank()
        self.lines.append(self.paint(fit(visible(text), self.width), "bold"))

    def line(self, text: str, style: str = "") -> None:
        """One line, cut at the width."""
        self.lines.append(self.paint(fit(visible(text), self.width), style))

    def command(self, text: str, indent: str) -> None:
        """A line to copy: never cut at the width, because half a command is worse than a long line."""
        self.lines.append(indent + self.paint(visible(text), "cyan"))

    def columns(self, left: str, right: str, style: str = "") -> None:
        """One line with `right` at the right edge; `left` gives way."""
        shown_right = fit(visible(right), self.width // 2)
        shown_left = fit(visible(left), self.width - cells(shown_right) - 1)
        gap = " " * (self.width - cells(shown_left) - cells(shown_right))
        self.lines.append(f"{self.paint(shown_left, style)}{gap}{shown_right}")

    def prose(self, text: str, indent: str = "", hanging: str | None = None, max_lines: int = 0) -> None:
        """A paragraph, wrapped; later lines get the `hanging` indent."""
        hanging = " " * len(indent) if hanging is None else hanging
        wrapped = textwrap.wrap(
            visible(text), self.width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False
        )
        if max_lines and len(wrapped) > max_lines:
            wrapped = [*wrapped[: max_lines - 1], f"{wrapped[max_lines - 1].rstrip()}…"]
        self.lines += [fit(line, self.width) for line in wrapped]

    def item(self, mark: str, style: str, text: str) -> None:
        """A paragraph behind a mark of its own colour."""
        first = len(self.lines)
        self.prose(text, indent=f"{mark} ")
        self.lines[first] = self.paint(mark, style) + self.lines[first][len(mark) :]

    def paint(self, text: str, style: str) -> str:
        """The text in a colour of `COLOURS`, or as it is."""
        return f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if self.colour and style else text

    def text(self) -> str:
        """All lines."""
        return "".join(f"{line.rstrip()}\n" for line in self.lines)


def cells(text: str) -> int:
    """Columns the text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, width: int) -> str:
    """The text cut to `width` cells, with an ellipsis where something is missing."""
    if cells(text) <= width:
        return text
    from rich.cells import set_cell_size

    return f"{set_cell_size(text, width - 1).rstrip()}…"


def bar(parts: list[tuple[int, str]], width: int) -> str:
    """`width` blocks shared out by size; a part that is not zero gets at least one block."""
    total = sum(size for size, _ in parts)
    if not total:
        return ""
    shares = [max(1, round(width * size / total)) if size else 0 for size, _ in parts]
    shares[shares.index(max(shares))] += width - sum(shares)
    return "".join(block * count for (_, block), count in zip(parts, shares, strict=True))
