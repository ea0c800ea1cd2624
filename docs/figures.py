"""At which commit figures were taken, and whether `src/` has changed since.

The head of a record names its command, commit, date and machine, and the Git tree of `src/`, by which the
same code is known even where its commit is not (a shallow clone, a rebased branch). Records from before heads
had all of that name the commit in which they were committed instead: their figures are as old, or older.

Pages are compared with the records by a test, but what they say about `src/` is true as of the commit that
they name, and a later commit must not make them wrong: `without_state` blots it out, and filling the pages
again brings it up to date. Without Git, or where a commit is not in the history, the state is unknown.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from weights2code.experiments.provenance import CHANGES

ROOT = Path(__file__).resolve().parent.parent
SINCE = "`src/` since then:"
_STATE = re.compile(re.escape(SINCE) + r"[^.|\n]*")

Head = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class State:
    """What became of `src/` since figures were taken."""

    kind: Literal["same", "changed", "unknown"]
    text: str


def records(root: Path = ROOT) -> list[Path]:
    """Every record that is there."""
    places = (
        "benchmarks/experiments/*/experiment.json",
        "benchmarks/*/results/*.json",
        "docs/pictures/*.json",
    )
    return [file for place in places for file in sorted(root.glob(place))]


def without_state(text: str) -> str:
    """A page without what it says about `src/`, for comparison."""
    return _STATE.sub(SINCE, text)


# -- the checkout -------------------------------------------------------------------------------------------


def state(head: Head, root: Path = ROOT) -> State:
    """Whether `src/` is now what it was when the figures were taken."""
    return _state(head.get("commit"), head.get("committed_in"), head.get("src"), root)


@cache
def _state(commit: str | None, committed_in: str | None, tree: str | None, root: Path) -> State:
    now = current(root)
    if now is None:
        return State("unknown", "unknown, as there is no Git history here")
    tree_now, newest = now
    asof = f", as of {newest}"
    if commit and commit.endswith(CHANGES):
        return State("changed", f"taken with changes that were not committed{asof}")
    if tree and tree == tree_now:
        return State("same", f"unchanged{asof}")
    known = commit or committed_in
    if known is None:
        return State("unknown", "unknown, as no commit was recorded")
    commits = git(root, "rev-list", "--count", f"{known}..HEAD", "--", "src")
    if commits is None:
        word = "changed" if tree else "unknown"
        return State(word, f"{word}{asof}; the commit is not in the history here")
    if tree is None and commits == "0" and not tree_now.endswith(CHANGES):
        return State("unknown", f"unchanged since they were committed{asof}")
    parts = [f"{commits} commit{'s' * (commits != '1')}"] if commits != "0" else []
    parts += ["changes that are not committed"] if tree_now.endswith(CHANGES) else []
    return State("changed", " by ".join(["changed", *([" and ".join(parts)] if parts else [])]) + asof)


def current(root: Path = ROOT) -> tuple[str, str] | None:
    """The Git tree of `src/`, marked if it was changed since, and the newest commit that touched it."""
    tree = git(root, "rev-parse", "HEAD:src")
    newest = git(root, "log", "-1", "--format=%h", "--abbrev=10", "--", "src")
    changes = git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    if tree is None or newest is None or changes is None:
        return None
    return tree + (CHANGES if changes else ""), newest


def git(root: Path, *words: str) -> str | None:
    """What Git answers, or None if there is no Git, no checkout or no such thing."""
    command = ["git", "-C", str(root), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


# -- words --------------------------------------------------------------------------------------------------


def where(head: Head) -> str:
    """The commit in words, and the date."""
    commit = f"at commit {head['commit']}" if head.get("commit") else "at an unknown commit"
    if not head.get("commit") and head.get("committed_in"):
        commit = f"no later than commit {head['committed_in']}"
    return f"{commit}, {head['date']}"


def machine(head: Head) -> str:
    found = head.get("machine")
    if not found:
        return "a machine that was not recorded"
    text = f"{found['processor']} with {found['cores']} cores"
    text += f" and {found['accelerator']}" if "accelerator" in found else ""
    return f"{text}, Python {found['python']}"


def taken(head: Head, remark: str = "", what: str = "Taken") -> str:
    """The line that every page has: command, commit, date, machine, and what became of `src/`."""
    spent = ""
    if seconds := head.get("wall_seconds", head.get("seconds")):
        spent = f", in {duration(seconds)}"
    elif seconds := head.get("run_seconds"):
        spent = f", {duration(seconds)} of runs in all"
    remark = f" ({remark})" if remark else ""
    text = f"{what} by `{head['command']}`{remark} {where(head)}, on {machine(head)}{spent}. {since(head)}"
    if note := head.get("judged"):
        text += f" Its {note['programs']} programs were judged again since: solved {note['before']} before, "
        text += f"{note['now']} now{', '.join(['', *note['changed']])}."
    return text


def since(head: Head) -> str:
    return f"{SINCE} {state(head).text}."


def duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 60 else f"{seconds / 60:.1f} minutes"


def taken_list(heads: Iterable[tuple[str, Head]]) -> str:
    """The same for a page that is made from several records: a line a commit, with what was taken at it."""
    by_commit: dict[tuple[str, str], list[str]] = {}
    for name, head in heads:
        at = where({**head, "date": str(head["date"]).partition(" ")[0]})
        by_commit.setdefault((at, since(head)), []).append(name)
    return "\n".join(f"- {', '.join(names)}: {at}. {said}" for (at, said), names in by_commit.items())
