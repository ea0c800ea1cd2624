"""Figures are taken again where the source has changed, go on where they were stopped, and never mix."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from weights2code.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
PLACES = [str(ROOT / "benchmarks"), str(ROOT / "docs")]
sys.path[:0] = PLACES
try:
    import figures
    import records
    import renew
finally:
    for place in PLACES:
        sys.path.remove(place)

#: A benchmark: a row a run is enough to see; it stops before the last one if it is told to.
SCRIPT = """
import json, pathlib, subprocess
rows = pathlib.Path("runs.txt")
rows.write_text((rows.read_text() if rows.exists() else "") + "row ")
if pathlib.Path("stop").exists():
    raise SystemExit(1)
tree = subprocess.run(["git", "rev-parse", "HEAD:src"], capture_output=True, text=True).stdout.strip()
head = {"command": "c", "commit": "abc", "src": tree, "date": "d", "machine": None, "rows": rows.read_text()}
pathlib.Path("record.json").write_text(json.dumps(head))
"""
pytestmark = pytest.mark.skipif(which("git") is None, reason="Git is not installed")
FIGURE = renew.Figure("one", "record.json", ("python benchmark.py",), ("runs.txt",))


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
    (tmp_path / "docs/make_results.py").write_text("open('pages', 'w').write('made')")
    commit(tmp_path, "first")
    return tmp_path


def plan(figure: renew.Figure, root: Path, **how: Any) -> renew.Plan:
    (found,) = renew.plans([figure], root, **how)
    return found


def test_what_is_out_of_date_is_taken_and_then_left(root: Path) -> None:
    assert plan(FIGURE, root).action == "take"
    assert renew.renew([plan(FIGURE, root)], root, 1) == 0
    assert (root / "pages").read_text() == "made"
    assert plan(FIGURE, root).action == "leave"
    assert plan(FIGURE, root).why == "as of now"
    assert plan(FIGURE, root, again=True).action == "take"
    commit(root, "second")
    assert plan(FIGURE, root).action == "take"
    assert plan(FIGURE, root).why.startswith("src/ changed")


def test_what_was_stopped_goes_on_and_begins_anew_if_the_source_changed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "stop").touch()
    assert renew.renew([plan(FIGURE, root)], root, 1) == 1
    assert "not taken: one" in capsys.readouterr().out
    assert plan(FIGURE, root).action == "go on"
    (root / "stop").unlink()
    assert renew.renew([plan(FIGURE, root)], root, 1) == 0
    assert json.loads((root / "record.json").read_text())["rows"] == "row row "
    (root / "stop").touch()
    commit(root, "second")
    assert renew.renew([plan(FIGURE, root)], root, 1) == 1
    (root / "stop").unlink()
    tree = commit(root, "third")
    assert plan(FIGURE, root).action == "take"
    assert renew.renew([plan(FIGURE, root)], root, 1) == 0
    taken = json.loads((root / "record.json").read_text())
    assert (taken["rows"], taken["src"]) == ("row ", tree)


def test_a_share_of_an_attack_is_not_the_attack(root: Path) -> None:
    assert renew.renew([plan(FIGURE, root)], root, 1) == 0
    record = json.loads((root / "record.json").read_text())
    for whole, action in ((10, "leave"), (11, "take")):
        (root / "record.json").write_text(json.dumps({**record, "cases": 10, "whole": whole}))
        assert plan(FIGURE, root).action == action


def test_an_interrupt_ends_it_and_the_next_run_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(step: str, root: Path) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(renew, "run", interrupted)
        assert renew.renew([plan(FIGURE, root)], root, 1) == 130
    assert plan(FIGURE, root).action == "go on"


def test_what_cannot_be_taken_here_is_named_and_left(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = renew.Figure("two", "other.json", (), kept="seen only once")
    found = renew.plans([replace(FIGURE, needs="CUDA"), kept], root, available=lambda need: False)
    assert [part.action for part in found] == ["leave", "leave"]
    assert renew.renew(found, root, 1) == 0
    said = capsys.readouterr().out
    assert "left: one: needs CUDA, which is not here" in said
    assert "left: two: kept: seen only once" in said
    assert plan(replace(FIGURE, needs="CUDA"), root, available=lambda need: True).action == "take"


def test_a_source_that_is_not_committed_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "src/a.py").write_text("changed")
    assert renew.renew([plan(FIGURE, root)], root, 1) == 2
    assert "commit them" in capsys.readouterr().out
    assert not (root / "record.json").exists()


def test_what_a_sweep_leaves_is_copied_to_its_place(root: Path) -> None:
    copied = (("record.json", "place/record.json"), ("none.svg", "place/none.svg"))
    figure = replace(FIGURE, record="place/record.json", copied=copied)
    assert renew.renew([plan(figure, root)], root, 1) == 0
    assert sorted(path.name for path in (root / "place").iterdir()) == ["record.json"]


def test_the_expected_time_follows_the_processes() -> None:
    parallel = renew.Figure("a", "", ("w2c bench --jobs {processes}",))
    assert renew.expected_minutes(parallel, {"rows": [{"seconds": 60}, {"seconds": 180}]}, 2) == 2
    assert renew.expected_minutes(FIGURE, {"seconds": 90, "rows": []}, 8) == 1.5
    assert renew.expected_minutes(parallel, {"rows": []}, 2) is None


def test_every_record_is_known_and_every_command_is_one() -> None:
    known = {figure.record: figure for figure in renew.figures()}
    assert len({figure.name for figure in known.values()}) == len(known) == len(renew.figures())
    there = {file.relative_to(ROOT).as_posix() for file in figures.records()}
    assert there <= set(known)
    for figure in known.values():
        assert bool(figure.steps) != bool(figure.kept), figure.name
        for step in figure.steps:
            program, *words = renew.shlex.split(step.format(processes=2))
            if program == "python":
                assert (ROOT / words[0]).exists(), step
            else:
                build_parser().parse_args(words)


def test_rows_go_on_unless_the_source_or_the_question_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runs/rows.jsonl"
    tree = "tree"
    monkeypatch.setattr(records, "digest", lambda: tree)
    records.Rows(file, ["asked"]).add({"a": 1})
    with file.open("a") as out:
        out.write('{"a": 2')  # killed while it wrote
    again = records.Rows(file, ["asked"])
    assert again.rows == [{"a": 1}]
    again.add({"a": 3})
    assert records.Rows(file, ["asked"]).rows == [{"a": 1}, {"a": 3}]
    records.Rows(file, ["asked"]).finish(tmp_path / "record.json", "command", seconds=1.0)
    assert not file.exists()
    assert records.read_rows(tmp_path / "record.json") == [{"a": 1}, {"a": 3}]
    records.Rows(file, ["asked"]).add({"a": 1})
    assert records.Rows(file, ["other"]).rows == []
    records.Rows(file, ["asked"]).add({"a": 1})
    tree = "later"
    assert records.Rows(file, ["asked"]).rows == []
