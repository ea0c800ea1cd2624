"""Figures are taken again where the source has changed, and name the source that they come from."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

import figures
import renew
from weights2code.cli.parser import build_parser

ROOT = Path(__file__).parents[2]

#: A benchmark: it says what it was asked, and leaves a record of the tree that is there unless it is to stop.
SCRIPT = """
import json, pathlib, subprocess, sys
pathlib.Path("asked.txt").open("a").write(" ".join(sys.argv[1:]) + ";")
if pathlib.Path("stop").exists():
    raise SystemExit(1)
tree = subprocess.run(["git", "rev-parse", "HEAD:src"], capture_output=True, text=True).stdout.strip()
head = {"command": "c", "commit": "abc", "src": tree, "date": "d", "machine": None}
pathlib.Path("record.json").write_text(json.dumps({"head": head, "asked": {}, "rows": []}))
"""
pytestmark = pytest.mark.skipif(which("git") is None, reason="Git is not installed")
FIGURE = renew.Figure("one", "record.json", ("python benchmark.py {processes} {out}",))


def commit(root: Path, text: str) -> str:
    (root / "src").mkdir(exist_ok=True)
    (root / "src/a.py").write_text(text)
    for words in (("add", "-A"), ("commit", "-qm", text)):
        assert figures.git(root, "-c", "user.name=n", "-c", "user.email=e@example.org", *words) is not None
    figures._state.cache_clear()
    now = figures.current(root)
    assert now is not None
    return now[0]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set where tests run inside a hook of Git
        monkeypatch.delenv(name, raising=False)
    assert figures.git(tmp_path, "init", "-q") is not None
    (tmp_path / "benchmark.py").write_text(SCRIPT)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/fill.py").write_text("open('pages', 'w').write('made')")
    monkeypatch.setattr(renew, "ROOT", tmp_path)
    monkeypatch.setattr(renew, "current", lambda: figures.current(tmp_path))
    monkeypatch.setattr(renew, "state", lambda head: figures.state(head, tmp_path))
    commit(tmp_path, "first")
    return tmp_path


def asked(root: Path) -> list[str]:
    file = root / "asked.txt"
    return file.read_text().split(";")[:-1] if file.exists() else []


def test_what_is_out_of_date_is_taken_and_the_pages_are_filled(root: Path) -> None:
    assert renew.renew([FIGURE], 3, again=False) == 0
    tree = figures.current(root)[0]  # type: ignore[index]
    assert asked(root) == [f"3 w2c-runs/renew/{tree[:10]}/one"]
    assert (root / "pages").read_text() == "made"
    assert renew.renew([FIGURE], 3, again=False) == 0
    assert len(asked(root)) == 1, "it is as of now"
    assert renew.renew([FIGURE], 3, again=True) == 0
    commit(root, "second")
    assert renew.renew([FIGURE], 3, again=False) == 0
    assert len(asked(root)) == 3


def test_what_is_not_taken_is_said_and_the_same_command_goes_on(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "stop").touch()
    assert renew.renew([FIGURE], 1, again=False) == 1
    assert "not taken: one" in capsys.readouterr().out
    (root / "stop").unlink()
    assert renew.renew([FIGURE], 1, again=False) == 0


def test_changes_that_are_not_committed_are_refused(root: Path) -> None:
    (root / "src/a.py").write_text("more")
    assert renew.renew([FIGURE], 1, again=False) == 2
    assert asked(root) == []


def test_what_this_machine_cannot_do_is_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renew, "has_gpu", lambda: False)
    assert renew.why_not(renew.Figure("a", "a.json", needs="CUDA"), False) == "needs CUDA, which is not here"
    assert renew.why_not(renew.Figure("a", "a.json"), False) == ""
    assert renew.why_not(renew.kept("a", "a", "seen once"), True) == "kept: seen once"


def test_every_record_is_taken_by_a_command_that_there_is() -> None:
    known = renew.figures()
    records = {file.relative_to(ROOT).as_posix() for file in figures.records()}
    assert records <= {figure.record for figure in known.values()}, "one command takes them all"
    for figure in known.values():
        assert bool(figure.steps) != bool(figure.kept), figure.name
        for step in figure.steps:
            first, *words = step.format(processes=2, out="out").split()
            if first == "w2c":
                build_parser().parse_args(words)
            else:
                assert (ROOT / words[0]).exists(), step
