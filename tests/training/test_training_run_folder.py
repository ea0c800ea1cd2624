"""Run folders: created, continued, refused, locked, never half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weights2code import run_folder
from weights2code.errors import InputError
from weights2code.run_folder import begin, open_existing, read_config, read_file, write_atomically
from weights2code.settings import Settings


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_new_folder_holds_its_configuration(tmp_path: Path):
    settings = Settings(seed=3, hide=("y[t-1]",))
    with begin(tmp_path / "a" / "b", "sum", settings) as folder:
        assert folder.files() == ["config.json"]
        assert not folder.trained
    data = json.loads((tmp_path / "a" / "b" / "config.json").read_text())
    assert data["source"] == "sum"
    assert data["version"]
    assert read_config(tmp_path / "a" / "b") == ("sum", settings)


def test_the_same_configuration_continues(tmp_path: Path):
    begin(tmp_path, "sum", Settings(seed=1)).close()
    before = snapshot(tmp_path)
    with begin(tmp_path, "sum", Settings(seed=1, time_limit=5.0, device="auto")) as folder:
        assert folder.settings.time_limit == 5.0
    assert snapshot(tmp_path) == before


def test_other_settings_are_named_and_nothing_changes(tmp_path: Path):
    begin(tmp_path, "sum", Settings(seed=1)).close()
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=r"seed \(1 there, 2 asked\), layers \(None there, 2 asked\)"):
        begin(tmp_path, "sum", Settings(seed=2, layers=2))
    with pytest.raises(InputError, match="a run of sum, not of spring"):
        begin(tmp_path, "spring", Settings(seed=1))
    assert snapshot(tmp_path) == before


def test_a_foreign_folder_is_refused(tmp_path: Path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="not a run folder"):
        begin(tmp_path, "sum", Settings())
    with pytest.raises(InputError, match="not a run folder"):
        open_existing(tmp_path)
    assert snapshot(tmp_path) == {"letter.txt": b"mine"}


SOURCE = {"file": "/a.csv", "size": 9, "sha256": "0", "inputs": ["a"], "targets": ["b"]}
CORRUPT: list[bytes] = [
    b"{", b"\xff\xfe", b"[]", b"null", b"{}", b'{"source": "sum"}', b"[" * 100_000,
    *(json.dumps({"source": "sum", "settings": settings}).encode() for settings in (
        [], {"seed": "x"}, {"colour": 1}, {"hide": 4}, {"seed": True}, {"seed": -1}, {"layers": 2.5},
        {"samples": "512"}, {"samples": 10**30}, {"time_limit": "10"}, {"hide": "y[t-1]"}, {"hide": [3]},
        {"recipe": ["fast"]}, {"device": None},
    )),
    *(json.dumps({"source": source, "settings": {}}).encode() for source in (
        3, SOURCE | {"file": 3}, SOURCE | {"size": "9"}, SOURCE | {"size": -1}, SOURCE | {"inputs": "ab"},
        SOURCE | {"inputs": ["a", "a"]}, SOURCE | {"targets": [1]}, SOURCE | {"sequence": 4},
        SOURCE | {"colour": "red"},
    )),
]  # fmt: skip


@pytest.mark.parametrize("text", CORRUPT, ids=lambda text: text[:60].decode(errors="replace"))
def test_a_configuration_that_no_run_wrote_is_refused_and_left(text: bytes, tmp_path: Path):
    (tmp_path / "config.json").write_bytes(text)
    for attempt in (lambda: begin(tmp_path, "sum", Settings()), lambda: open_existing(tmp_path)):
        with pytest.raises(InputError, match="left untouched"):
            attempt()
    assert snapshot(tmp_path) == {"config.json": text}


def test_a_file_in_the_place_of_the_folder(tmp_path: Path):
    place = tmp_path / "file"
    place.write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        begin(place, "sum", Settings())
    with pytest.raises(InputError, match="not a directory"):
        begin(place / "below", "sum", Settings())
    with pytest.raises(InputError, match="is a file"):
        open_existing(place)
    assert place.read_text() == "mine"


def test_no_folder_to_open(tmp_path: Path):
    with pytest.raises(InputError, match="no run folder"):
        open_existing(tmp_path / "nowhere")


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As if the folder were read-only; a real one does not stop a superuser, who may run the tests."""

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(run_folder, "write_atomically", denied)
    with pytest.raises(InputError, match="permission denied; choose another --out"):
        begin(tmp_path / "run", "sum", Settings())


def test_a_refused_command_leaves_no_new_folder(tmp_path: Path):
    with pytest.raises(InputError, match="later"), begin(tmp_path / "run", "sum", Settings()):
        raise InputError("found out later")
    assert not (tmp_path / "run").exists()
    begin(tmp_path / "run", "sum", Settings()).close()
    with pytest.raises(InputError, match="later"), begin(tmp_path / "run", "sum", Settings()):
        raise InputError("found out later")
    assert (tmp_path / "run" / "config.json").exists()


def test_two_processes_cannot_share_a_folder(tmp_path: Path):
    with begin(tmp_path, "sum", Settings()), pytest.raises(InputError, match="in use by another process"):
        begin(tmp_path, "sum", Settings())
    begin(tmp_path, "sum", Settings()).close()


def test_the_lock_of_a_killed_process_does_not_stay(tmp_path: Path):
    code = (
        "import sys\n"
        "from weights2code.run_folder import begin\n"
        "from weights2code.settings import Settings\n"
        "folder = begin(sys.argv[1], 'sum', Settings()); print('locked', flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(InputError, match="in use"):
            begin(tmp_path, "sum", Settings())
        process.kill()
    begin(tmp_path, "sum", Settings()).close()


def test_what_a_killed_process_left_half_written_is_swept(tmp_path: Path):
    (tmp_path / ".config.json.123.part").write_text("{")
    (tmp_path / ".checkpoint.123.part").mkdir()
    (tmp_path / ".checkpoint.123.part" / "rung0.safetensors").write_text("")
    with begin(tmp_path, "sum", Settings()) as folder:
        assert os.listdir(folder.path) == ["config.json"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "file"
    write_atomically(file, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weights2code.run_folder.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, "new")
    assert snapshot(tmp_path) == {"file": b"old"}


def test_dropping_the_checkpoint(tmp_path: Path):
    with begin(tmp_path, "sum", Settings()) as folder:
        folder.checkpoint.mkdir()
        (folder.checkpoint / "rung0.safetensors").write_bytes(b"x")
        folder.write("model.safetensors", b"x")
        assert not folder.trained
        folder.drop_checkpoint()
        assert folder.trained
        assert folder.files() == ["config.json", "model.safetensors"]
        assert sorted(os.listdir(tmp_path)) == folder.files()


def test_only_plain_files_of_sensible_size(tmp_path: Path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"12345")
    assert read_file(plain, 5) == b"12345"
    with pytest.raises(InputError, match="larger than"):
        read_file(plain, 4)
    (tmp_path / "link").symlink_to(plain)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(InputError, match="not a plain file"):
            read_file(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        read_file(tmp_path / "nothing")
