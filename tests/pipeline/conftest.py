"""One finished run of a small task, which tests of run folders copy and change."""

from __future__ import annotations

from pathlib import Path

import pytest

from weights2code.cli import main

RUN = ["run", "sum_last2", "--samples", "1024", "--rungs", "linear", "--quiet", "--out"]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("finished") / "run"
    assert main([*RUN, str(path)]) == 0
    return {item.name: item.read_bytes() for item in path.iterdir() if item.is_file()}


@pytest.fixture
def folder(finished: dict[str, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    for name, content in finished.items():
        (path / name).write_bytes(content)
    return path
