"""The stories of `docs/decompile.md` end as the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from weights2code.cli import main

ROOT = Path(__file__).parents[2]
STORY = re.compile(
    r"<!-- run by a test: exit code (\d) -->\n```console\n\$ w2c (.*?)\n(.*?)\n\.\.\.\n```", re.DOTALL
)
STORIES = STORY.findall((ROOT / "docs/decompile.md").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES, ids=lambda story: shlex.split(story[1])[1])
def test_story_ends_as_it_is_told(
    story: tuple[str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, command, shown = story
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(shlex.split(command)) == int(code)
    assert capsys.readouterr().out.splitlines()[: len(shown.splitlines())] == shown.splitlines()


def test_there_are_three_stories() -> None:
    assert len(STORIES) == 3
