"""How a changed kernel is measured: the same flags, the metric that must move together with the duration."""

from __future__ import annotations

from stallscope.kernels.tiles import Knobs


def measured(knobs: Knobs, *watch: str) -> str:
    """The command that measures a changed kernel."""
    name = "".join(
        character if character.isalnum() or character == "_" else "." for character in short_name(knobs.name)
    )
    metrics = ",".join(("gpu__time_duration.sum", *watch))
    return (
        f"ncu --set full -k regex:{name} --csv --page raw PROGRAM > after.csv; compare {metrics}; time it without ncu"
    )


def short_name(name: str) -> str:
    """The function of a demangled name, without return type, parameters and template arguments."""
    depth, kept = 0, []
    for character in name.replace("(anonymous namespace)", "<unnamed>"):
        depth += character == "<"
        if depth == 0 and character == "(":
            break
        if depth == 0:
            kept.append(character)
        depth -= character == ">" and depth > 0
    words = "".join(kept).split()
    return (words[-1] if words else name).rpartition("::")[2] or name
