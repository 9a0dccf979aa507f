"""Damages small PyTorch traces (values, keys, nesting, text, gzip) and reads them: `fuzz_kineto.py --inputs 100000`."""

from __future__ import annotations

from pathlib import Path

from fuzz_campaign import Target, campaign

TEMPLATES = 24


def target() -> Target:
    """The reader over mutations of the templates."""
    from fuzz_oracle import WrongAnswerError, nothing_written_outside, trace_answer
    from mutate_kineto import mutate, template

    templates = [template(seed) for seed in range(TEMPLATES)]
    written = nothing_written_outside(Path.cwd()).__enter__()

    def answer(number: int, folder: Path) -> str:
        path = folder / "t.json"
        path.write_bytes(mutate(templates[number % TEMPLATES], number))
        found = trace_answer(path, depth=2 if number % 16 == 0 else 1 if number % 4 == 0 else 0)
        if written or [file.name for file in folder.iterdir()] != ["t.json"]:
            raise WrongAnswerError(f"written outside the cache: {written}")
        return found

    return answer


if __name__ == "__main__":
    raise SystemExit(campaign("PyTorch traces", target))
