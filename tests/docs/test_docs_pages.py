"""The documentation builds without a warning, and what it marks as runnable runs."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from weights2code import pipeline
from weights2code.cli import main
from weights2code.data import Problem
from weights2code.explain.hypotheses import HYPOTHESES
from weights2code.explain.own_heads import OWN
from weights2code.heads import HEADS
from weights2code.language import OPERATORS
from weights2code.results import Outcome
from weights2code.run_folder import RunFolder
from weights2code.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"<!-- runnable -->\n```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
PAGES = sorted(path for path in DOCS.glob("*.md") if "<!-- runnable" in path.read_text(encoding="utf-8"))


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


def test_the_data_are_what_their_script_writes(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "examples/make_data.py"))["write_all"](tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in (ROOT / "examples/data").iterdir())
    for name in names:
        assert (tmp_path / name).read_bytes() == (ROOT / "examples/data" / name).read_bytes()


#: Pages and scripts that run one after another in one folder, since they search for the same rules.
TOGETHER = [
    ("tutorial.md", "extraction.md", "README.md", "thermostat.py"),
    ("own_data.md", "bank_balance.py", "sensor_drift.py"),
    ("researchers.md",),
    ("symbolic_regression.md",),
]
#: What a script prints, among others.
PRINTED = {
    "thermostat.py": ("Tested", "heater: [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]"),
    "bank_balance.py": ("2 if paid_out", "Tested", "balance: [-52, -54, -56, 144, 144]"),
    "sensor_drift.py": ("0.05*hours[t] + 1.8*temperature[t]", "Tested", "the data are not exact"),
}


def run_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its blocks in order; commands print the lines that stand below them."""
    space: dict[str, object] = {}
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


def run_readme(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    capsys.readouterr()
    exec(compile(found[1], "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# (.+)", found[1])


def run_script(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert [part for part in PRINTED[script.name] if part not in printed] == []


@pytest.fixture
def searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was searched for is not searched for again unless it is to be left in a folder."""
    real, known = pipeline.search, {}

    def search(problem: Problem, settings: Settings, folder: RunFolder | None = None, *more: Any) -> Outcome:
        data = problem.training
        key = data.x.tobytes(), data.y.tobytes(), repr(settings)
        if folder or key not in known:
            known[key] = real(problem, settings, folder, *more)
        return known[key]

    monkeypatch.setattr(pipeline, "search", search)


def test_every_page_is_run() -> None:
    files = {name for group in TOGETHER for name in group}
    assert files == {*(page.name for page in PAGES), "README.md", *PRINTED}


@pytest.mark.slow
@pytest.mark.usefixtures("searched_once")
@pytest.mark.parametrize("files", TOGETHER, ids=lambda files: files[0])
def test_pages_and_examples_run(
    files: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setattr("weights2code.explain.hypotheses.HYPOTHESES", own := [*HYPOTHESES])
    monkeypatch.setattr("weights2code.explain.routing.HYPOTHESES", own)
    monkeypatch.setitem(OPERATORS, "sign", OPERATORS["abs"])  # what a page adds goes when it ends
    request.addfinalizer(lambda: [known.pop("fading", None) for known in (HEADS, OWN)])
    for name in files:
        if name.endswith(".py"):
            run_script(ROOT / "examples" / name, capsys)
        elif name == "README.md":
            run_readme(capsys)
        else:
            run_page(DOCS / name, capsys)
        if name == "tutorial.md":  # the run that the next page asks for, which is not run again
            shutil.copytree("parity", "runs/parity_last2")


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
