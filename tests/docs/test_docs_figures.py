"""Figures name their commit, and what became of `src/` since is said as far as it can be known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import figures
from weights2code.experiments import provenance

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed")
HEAD = {
    "command": "c",
    "date": "2030-01-02 03:04 UTC",
    "machine": {"processor": "p", "cores": 2, "python": "3"},
}


def git(root: Path, *words: str) -> str:
    found = figures.git(root, "-c", "user.name=n", "-c", "user.email=e@example.org", *words)
    assert found is not None
    return found


def change(root: Path, text: str, place: str = "src/a.py") -> dict[str, Any]:
    """Commit a change; the head of figures that are taken now."""
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", text)
    figures._state.cache_clear()
    return {**HEAD, "commit": git(root, "rev-parse", "HEAD"), "src": git(root, "rev-parse", "HEAD:src")}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set where tests run inside a hook of Git
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init", "-q")
    return tmp_path


def test_changes_of_the_source_are_counted_and_others_are_not(root: Path) -> None:
    head = change(root, "first")
    change(root, "words", "docs/a.md")
    assert figures.state(head, root).kind == "same"
    assert figures.state(head, root).text.startswith("unchanged, as of ")
    change(root, "second")
    assert figures.state(head, root).text.startswith("changed by 1 commit, as of ")
    now = change(root, "third")
    assert figures.state(head, root).text == f"changed by 2 commits, as of {now['commit'][:10]}"
    change(root, "first")
    assert figures.state(head, root).kind == "same", "the same code again, by another way"


def test_changes_that_are_not_committed_count(root: Path) -> None:
    head = change(root, "first")
    (root / "src/a.py").write_text("second")
    figures._state.cache_clear()
    assert figures.state(head, root).kind == "changed"
    assert "changed by changes that are not committed" in figures.state(head, root).text
    change(root, "first again")
    assert figures.state({**head, "commit": head["commit"] + provenance.CHANGES}, root).kind == "changed"


def test_a_record_without_its_commit_is_as_old_as_the_commit_that_brought_it(root: Path) -> None:
    head = change(root, "first")
    old = {**HEAD, "commit": None, "committed_in": head["commit"], "src": None}
    assert figures.state(old, root).kind == "unknown"
    assert figures.where(old).startswith("no later than commit ")
    change(root, "second")
    assert figures.state(old, root).text.startswith("changed by 1 commit, ")


def test_a_commit_that_is_not_in_the_history(root: Path) -> None:
    head = change(root, "first")
    gone = {**head, "commit": "0123456789"}
    assert figures.state(gone, root).kind == "same", "the source is known by its tree"
    assert figures.state({**gone, "src": None}, root).kind == "unknown"
    change(root, "second")
    assert figures.state(gone, root).kind == "changed"
    assert "not in the history" in figures.state(gone, root).text
    assert figures.state({**HEAD, "commit": None}, root).text == "unknown, as no commit was recorded"


def test_without_git_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = {**HEAD, "commit": "abc", "src": "tree"}
    (tmp_path / "src").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert figures.state(head, tmp_path).kind == "unknown"
    monkeypatch.setenv("PATH", "")
    figures._state.cache_clear()
    assert figures.state(head, tmp_path).text == "unknown, as there is no Git history here"
    figures._state.cache_clear()


def test_a_later_commit_makes_no_page_wrong() -> None:
    head = {**HEAD, "commit": "abc"}
    then, now = (f"{figures.taken(head)} {figures.SINCE} {text}.\n| a |" for text in ("x, as of 1", "y"))
    assert then != now
    assert figures.without_state(then) == figures.without_state(now)
    assert figures.without_state("at commit a. " + then) != figures.without_state("at commit b. " + now)


def test_the_package_knows_the_tree_of_its_checkout(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = root / "src/weights2code/experiments"
    place.mkdir(parents=True)
    file = Path(shutil.copy(provenance.__file__, place))
    monkeypatch.setattr(provenance, "__file__", str(file))
    assert provenance.source() is None, "no commit yet"
    head = change(root, "text")
    assert provenance.source() == head["src"]
    file.write_text("# changed\n")
    assert provenance.source() == head["src"] + provenance.CHANGES
