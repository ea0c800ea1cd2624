"""The size of the project: what counts, and that budgets only come down."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = str(ROOT / "tools")
sys.path.insert(0, TOOLS)
try:
    import size
finally:
    sys.path.remove(TOOLS)

CODE = '''"""A docstring,
of two lines."""

# a comment
def add(a, b):  # another
    """What it does."""
    return (
        a

        + b
    )


NAME = f"{add(1, 2)} {'x'}"
TEXT = """a string
that is no docstring"""
'''
#: def add ( a , b ) : / return ( a + b ) / NAME = "..." / TEXT = "..."
LINES, TOKENS = 1 + 4 + 1 + 2, 8 + 6 + 3 + 3


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One file a part, and what runs left."""
    for name in ("src/weights2code/a.py", "src/weights2code/room/b.py", "tests/c.py", "docs/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(CODE)
    (tmp_path / "benchmarks/suite/runs").mkdir(parents=True)
    (tmp_path / "benchmarks/suite/runs/program.py").write_text(CODE)
    rows = {"src": 2, "tests": 1, "benchmarks": 0, "docs": 1}
    text = "".join(f"[{part}]\nlines = {n * LINES}\ntokens = {n * TOKENS}\n" for part, n in rows.items())
    (tmp_path / "size.toml").write_text(text)
    return tmp_path


def budget(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "size.toml").read_text())


def test_comments_docstrings_and_blank_lines_do_not_count(tmp_path):
    (tmp_path / "a.py").write_text(CODE)
    assert size.size_of(tmp_path / "a.py") == size.Size(LINES, TOKENS, CODE.count("\n"))


def test_the_table_has_a_row_a_folder(project, capsys):
    assert size.main([], project) == 0
    rows = {line.split("|")[1].strip(): line for line in capsys.readouterr().out.splitlines()[2:]}
    assert list(rows) == [
        "modules at the top",
        "`room/`",
        "**src**",
        "**tests**",
        "**benchmarks**",
        "**docs**",
    ]
    assert f"| {2 * LINES} | {2 * TOKENS} |" in rows["**src**"]
    assert "| 0 | 0 | 0 |" in rows["**benchmarks**"]


def test_more_than_the_budget_fails_and_says_by_how_much(project, capsys):
    assert size.main(["--check"], project) == 0
    (project / "docs/more.py").write_text("x = 1\n")
    assert size.main(["--check"], project) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"docs holds {now} {what}, {more} more than the {now - more} of size.toml: take something out, or "
        "`--set --raise REASON`."
        for what, now, more in (("lines", LINES + 1, 1), ("tokens", TOKENS + 3, 3))
    ]


def test_budgets_come_down_and_rise_for_a_reason_alone(project):
    (project / "tests/c.py").write_text("x = 1\n")
    (project / "docs/more.py").write_text("x = 1\n")
    assert size.main(["--set"], project) == 1
    assert budget(project)["tests"] == {"lines": 1, "tokens": 3}
    assert budget(project)["docs"] == {"lines": LINES, "tokens": TOKENS}
    assert size.main(["--set", "--raise", 'a "page" more'], project) == 0
    assert budget(project)["docs"] == {"lines": LINES + 1, "tokens": TOKENS + 3, "raised": 'a "page" more'}
    assert "raised" not in budget(project)["tests"]
    assert size.main(["--check"], project) == 0


def test_the_table_is_written_between_the_markers_of_a_page(project):
    page = project / "page.md"
    page.write_text(f"before\n\n{size.BEGIN}\nold\n{size.END}\nafter\n")
    for _ in range(2):
        size.main(["--write", str(page)], project)
        text = page.read_text()
        assert text.startswith(f"before\n\n{size.BEGIN}\n\n| | lines of code |")
        assert text.endswith(f"\n\n{size.END}\nafter\n")
        assert "old" not in text
    page.write_text("no place")
    with pytest.raises(SystemExit, match="no place for the table"):
        size.main(["--write", str(page)], project)


def test_every_part_of_the_project_has_a_budget():
    assert size.budgets(ROOT).keys() == size.PARTS.keys()
