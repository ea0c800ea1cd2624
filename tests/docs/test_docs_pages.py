"""The documentation builds without a warning, and what it marks as runnable runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from weights2code.cli import main
from weights2code.explain.hypotheses import HYPOTHESES
from weights2code.explain.own_heads import OWN
from weights2code.heads import HEADS
from weights2code.language import OPERATORS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"<!-- runnable -->\n```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
PAGES = sorted(path for path in DOCS.glob("*.md") if "<!-- runnable" in path.read_text(encoding="utf-8"))


def readme_python() -> str:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_every_example_is_shown() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    data = sorted((ROOT / "examples/data").glob("*.csv"))
    assert len(data) >= 3
    for path in data:
        assert f"w2c fit examples/data/{path.name} " in text
        assert f":pyobject: {path.stem}\n" in text
    assert text.count("<!-- runnable") == len(BLOCK.findall(text))


def test_links_of_the_readme_lead_somewhere() -> None:
    """Sphinx checks those of the documentation."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_runnable_blocks_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """Blocks of a page run in order in one folder; commands print the lines that stand below them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    space: dict[str, object] = {}
    monkeypatch.setattr("weights2code.explain.hypotheses.HYPOTHESES", own := [*HYPOTHESES])
    monkeypatch.setattr("weights2code.explain.routing.HYPOTHESES", own)
    monkeypatch.setitem(OPERATORS, "sign", OPERATORS["abs"])  # what a page adds goes when it ends
    request.addfinalizer(lambda: [known.pop("fading", None) for known in (HEADS, OWN)])
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] == "python":
            exec(compile(block["text"], f"{page.name}", "exec"), space)
            continue
        command, *shown = block["text"].splitlines()
        assert command.startswith("$ w2c ")
        capsys.readouterr()
        assert main(shlex.split(command)[2:]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [line for line in shown if line != "..."] == printed[: len(shown) - ("..." in shown)]


@pytest.mark.slow
def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = readme_python()
    exec(compile(text, "README.md", "exec"), {})
    shown = re.findall(r"# (.+)", text)
    assert capsys.readouterr().out.splitlines() == shown


@pytest.mark.slow
@pytest.mark.skipif(find_spec("sphinx") is None, reason="Sphinx is not installed (extra: docs)")
def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d"]
    command += [str(tmp_path / "trees"), str(DOCS), str(tmp_path / "html")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    reference = (tmp_path / "html/api.html").read_text(encoding="utf-8")
    assert "ProgramRegressor" in reference
    assert "ProgramRegressor.program_" in reference
