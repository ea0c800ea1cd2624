"""Fill the slots of pages from what the benchmarks measured: the tables of results, the gallery, the README.

    python docs/fill.py            fills what is out of date
    python docs/fill.py --check    says what that is, and exits with 1 if anything is
    python docs/fill.py --status   says of every record at which commit it was taken, and whether src/ has
                                   changed since

A page is prose. What stands between `<!-- fill: NAME WORDS -->` and `<!-- end -->` is made by the function of
that name in `slots.py` from the records under `benchmarks/`; nothing there is typed by hand. What was not
measured yet says so, with the command that measures it.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import slots
from figures import ROOT, records, state, where, without_state
from weights2code.experiments.records import Record

SLOT = re.compile(r"<!-- fill: (?P<name>\w+)(?P<words>[^\n]*?) -->(?P<old>.*?)<!-- end -->", re.DOTALL)


def filled(text: str) -> str:
    """A page with what its slots hold now."""
    return SLOT.sub(_filled, text)


def _filled(slot: re.Match[str]) -> str:
    made = slots.made(slot["name"], shlex.split(slot["words"]))
    inside = f"\n\n{made}\n\n" if slot["old"].startswith("\n") else made  # a block, or part of a sentence
    return f"<!-- fill: {slot['name']}{slot['words']} -->{inside}<!-- end -->"


def pages(root: Path = ROOT) -> list[Path]:
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in found if "_build" not in page.parts and "<!-- fill:" in page.read_text("utf-8")]


def texts(root: Path = ROOT) -> dict[str, str]:
    """Every filled page, and every file that is a record's own text, by its path from the root."""
    made = {page.relative_to(root).as_posix(): filled(page.read_text("utf-8")) for page in pages(root)}
    return made | slots.files()


def different(root: Path, compared: Callable[[str], str]) -> dict[str, str]:
    """What is missing or different."""
    made = texts(root)
    kept = {path: (root / path).read_text("utf-8") if (root / path).exists() else "" for path in made}
    return {path: text for path, text in made.items() if compared(kept[path]) != compared(text)}


def write(root: Path = ROOT) -> list[str]:
    """Write what is out of date; the paths that changed."""
    changed = different(root, str)
    for path, text in changed.items():
        (root / path).write_text(text, encoding="utf-8")
    return list(changed)


def status(root: Path = ROOT) -> list[str]:
    """A line a record: when it was taken, and whether `src/` is still the same."""
    lines = []
    for file in records(root):
        record = Record.read(file)
        assert record is not None
        said = f"{where(record.head)}; src/ {state(record.head, root).text}"
        lines.append(f"{file.relative_to(root).as_posix()}: {said}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if out of date")
    parser.add_argument("--status", action="store_true", help="write nothing; how old each record is")
    options = parser.parse_args()
    if options.status:
        print("\n".join(status()))
        return 0
    changed = [*different(ROOT, without_state)] if options.check else write()
    word = "out of date" if options.check else "written"
    print("\n".join(f"{path}: {word}" for path in changed) or "everything is up to date")
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
