"""How large the project is, and the brake on it: lines and tokens of Python, a folder a row.

    python tools/size.py                              # the table
    python tools/size.py --check                      # fails where a part is above its budget in size.toml
    python tools/size.py --set [--raise REASON]       # budgets come down to what is there; up for a reason
    python tools/size.py --write docs/architecture.md # the table between the markers of a page

Comments, docstrings and blank lines do not count (after tinygrad's `sz.py`): nothing is gained by long lines
or by fewer explanations. All lines of the files stand beside. A string is one token, formatted or not, so
that every Python counts alike.
"""

from __future__ import annotations

import argparse
import json
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUDGET = "size.toml"
PACKAGE = "src/weights2code"
#: Each part with its files; what runs leave and programs that came out are nobody's work.
PARTS = {
    "src": "src/**/*.py",
    "tests": "tests/**/*.py",
    "benchmarks": "benchmarks/**/*.py",
    "docs": "docs/*.py",
}
LEFT_BY_RUNS = "runs"
BEGIN, END = "<!-- size: written by tools/size.py -->", "<!-- end of size -->"
HEAD = "# The most that each part may hold, as tools/size.py counts: it comes down, or says why not.\n"
COUNTED = {tokenize.OP, tokenize.NAME, tokenize.NUMBER, tokenize.STRING}
#: What a statement can begin after.
BETWEEN = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
UNSEEN = {tokenize.NL, tokenize.COMMENT}
#: Since Python 3.12 a formatted string comes in pieces.
OPENS, CLOSES = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)


@dataclass(frozen=True, slots=True)
class Size:
    """Lines with code on them, tokens, and all lines."""

    lines: int = 0
    tokens: int = 0
    all_lines: int = 0

    def counted(self) -> dict[str, int]:
        """What has a budget."""
        return {"lines": self.lines, "tokens": self.tokens}

    def __add__(self, other: Size) -> Size:
        return Size(self.lines + other.lines, self.tokens + other.tokens, self.all_lines + other.all_lines)


def size_of(path: Path) -> Size:
    """The size of one file."""
    lines: set[int] = set()
    tokens = depth = began = 0
    before = tokenize.ENCODING
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == OPENS:
                began = began if depth else token.start[0]
                depth += 1
            depth -= token.type == CLOSES
            is_docstring = token.type == tokenize.STRING and before in BETWEEN
            if not depth and (token.type in COUNTED or token.type == CLOSES) and not is_docstring:
                first = began if token.type == CLOSES else token.start[0]
                lines.update(range(first, token.end[0] + 1))
                tokens += 1
            before = before if token.type in UNSEEN else token.type
    return Size(len(lines), tokens, path.read_bytes().count(b"\n"))


def files(root: Path, part: str) -> Iterator[Path]:
    return (path for path in root.glob(PARTS[part]) if LEFT_BY_RUNS not in path.relative_to(root).parts)


def total(paths: Iterable[Path]) -> Size:
    return sum(map(size_of, paths), Size())


def folders(root: Path) -> dict[str, Size]:
    """The package, a folder a row, its own modules as one."""
    found: dict[str, list[Path]] = {}
    for path in files(root, "src"):
        below = path.relative_to(root / PACKAGE).parts
        found.setdefault(f"{below[0]}/" if len(below) > 1 else "modules at the top", []).append(path)
    return {f"`{name}`" if name.endswith("/") else name: total(found[name]) for name in sorted(found)}


def table(root: Path, parts: dict[str, Size]) -> str:
    rows = [*folders(root).items(), *((f"**{part}**", size) for part, size in parts.items())]
    lines = ["| | lines of code | tokens | all lines |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {size.lines:,} | {size.tokens:,} | {size.all_lines:,} |" for name, size in rows]
    return "\n".join(lines) + "\n"


def budgets(root: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads((root / BUDGET).read_text(encoding="utf-8"))


def above(parts: dict[str, Size], budget: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence for each count of a part that is more than it may be."""
    return [
        f"{part} holds {now:,} {what}, {now - budget[part][what]:,} more than the {budget[part][what]:,} of "
        f"{BUDGET}"
        for part, size in parts.items()
        for what, now in size.counted().items()
        if now > budget[part][what]
    ]


def set_budgets(root: Path, parts: dict[str, Size], reason: str | None) -> None:
    """Bring every count down to what is there; up only with a reason, which then stands beside it."""
    text = HEAD
    for part, old in budgets(root).items():
        now = parts[part].counted()
        if reason and any(now[what] > old[what] for what in now):
            new = now | {"raised": reason}
        else:
            new = old | {what: min(count, old[what]) for what, count in now.items()}
        text += f"\n[{part}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in new.items())
    (root / BUDGET).write_text(text, encoding="utf-8")


def write(page: Path, shown: str) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{page} has no place for the table: write {BEGIN} and {END} into it.")
    page.write_text(f"{before}{BEGIN}\n\n{shown}\n{END}{after}", encoding="utf-8")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail above the budget")
    parser.add_argument("--set", action="store_true", help="lower the budget to what is there")
    parser.add_argument("--raise", dest="reason", help="with --set: raise it where needed, for this reason")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page")
    options = parser.parse_args(arguments)
    parts = {part: total(files(root, part)) for part in PARTS}
    if options.set:
        set_budgets(root, parts, options.reason)
    if options.set or options.check:
        wrong = above(parts, budgets(root))
        for sentence in wrong:
            print(f"{sentence}: take something out, or `--set --raise REASON`.", file=sys.stderr)
        return 1 if wrong else 0
    if options.write:
        write(options.write, table(root, parts))
    else:
        print(table(root, parts), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
