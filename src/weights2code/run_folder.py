"""The run folder: everything that a run leaves behind, and the way to pick it up again (design: "Contract").

```
config.json          what was asked: source, settings, version
rows.csv             the table, if it came on standard input
metrics.jsonl        a line an epoch
memory.json          states that no output shows, if there are any
model.safetensors    the trained members, best first, as they were trained
taught.safetensors   a network that was pruned, trained on, wired or written to equal the program, if need be
graph.json, program_raw.py, program.py, program.tex, certificate.json, report.html     later stages
checkpoint/          only while training may go on: finished rungs and the one under way
```

Files appear whole or not at all. A folder is bound to its configuration: the same command continues it,
another one is refused and changes nothing. Two settings are free to differ, because they say how long and
where to compute and not what: `time_limit` and `device`. Reading a folder executes nothing.

A folder may come from somebody else. Everything in it is read through `read_file`, which takes plain files of
sensible size and nothing else: no links, pipes or devices.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weights2code import __version__, json_values
from weights2code.data.limits import replacing
from weights2code.data.own import FileSource
from weights2code.errors import InputError
from weights2code.settings import SETTINGS, Settings
from weights2code.tasks.task_file import TaskFile

CONFIG = "config.json"
METRICS = "metrics.jsonl"
MODEL = "model.safetensors"
TAUGHT = "taught.safetensors"
MEMORY = "memory.json"
ROWS = "rows.csv"
GRAPH = "graph.json"
PROGRAM_RAW = "program_raw.py"
PROGRAM = "program.py"
LATEX = "program.tex"
CERTIFICATE = "certificate.json"
REPORT = "report.html"
CHECKPOINT = "checkpoint"
PLOTS = "plots"

#: In the order in which the stages write them.
FILES = (
    CONFIG, ROWS, METRICS, MEMORY, MODEL, TAUGHT, GRAPH, PROGRAM_RAW, PROGRAM, LATEX, CERTIFICATE, REPORT
)  # fmt: skip

#: Bytes of the largest file that is read: tensors, JSON and tables, program texts.
LARGEST_TENSORS = 512 << 20
LARGEST_FILE = 32 << 20
LARGEST_TEXT = 1 << 20

#: Settings that may differ between the command that began a run and the one that continues it.
FREE_SETTINGS = ("device", "time_limit")


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace `path` in one step: a reader finds the whole old file or the whole new one."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def read_file(path: Path, most: int = LARGEST_FILE) -> bytes:
    """The content of a plain file; a link, a pipe, a device or what is too large is refused unread."""
    # without these a link would lead elsewhere, and a pipe would wait for somebody to write
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, os.O_RDONLY | careful)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise _not_plain(path) from None
        raise InputError(f"cannot read {path}: {_reason(error)}.") from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise _not_plain(path)
    with open(handle, "rb") as file:
        content = b"" if found.st_size > most else file.read(most + 1)
    if max(found.st_size, len(content)) > most:
        raise InputError(f"{path} is larger than {most >> 20} MiB, so no run wrote it; it was not read.")
    return content


def _not_plain(path: Path) -> InputError:
    return InputError(f"{path} is a link, a folder, a pipe or a device, not a plain file; it was not read.")


def check_plain(path: Path) -> None:
    """Refuse a run folder in which a link, a pipe or a device takes the place of a file or a subfolder."""
    for name in FILES:
        if os.path.lexists(path / name) and not stat.S_ISREG(os.lstat(path / name).st_mode):
            raise _not_plain(path / name)
    for name in (CHECKPOINT, PLOTS):
        if os.path.lexists(path / name) and not stat.S_ISDIR(os.lstat(path / name).st_mode):
            raise InputError(f"{path / name} is not a plain folder; it was left untouched.")


@dataclass(slots=True, eq=False)
class RunFolder:
    """An open run folder; while it is open, no other process can open it for work.

    Get one from `begin` (a command that trains) or `open_existing` (a command on what is there), and use it
    as a context manager.
    """

    path: Path
    source: str | TaskFile | FileSource
    settings: Settings
    _lock: int | None = None
    _new: bool = False

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._new and kind is not None and issubclass(kind, InputError):
            self._discard()
        self.close()

    def _discard(self) -> None:
        """A command that was refused before it did anything leaves no folder behind."""
        if set(os.listdir(self.path)) <= {CONFIG, ROWS}:
            self.file(ROWS).unlink(missing_ok=True)
            self.file(CONFIG).unlink()
            self.path.rmdir()

    def close(self) -> None:
        """Let other processes in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def file(self, name: str) -> Path:
        """Where the file of that name lies."""
        return self.path / name

    def has(self, name: str) -> bool:
        return self.file(name).exists()

    @property
    def checkpoint(self) -> Path:
        """The subfolder of unfinished training."""
        return self.path / CHECKPOINT

    @property
    def trained(self) -> bool:
        """Whether training is over: there is a model, and nothing left to continue."""
        return self.has(MODEL) and not self.checkpoint.exists()

    def write(self, name: str, content: bytes | str) -> Path:
        """Replace one file in one step."""
        write_atomically(self.file(name), content)
        return self.file(name)

    def write_json(self, name: str, data: Any) -> Path:
        return self.write(name, json.dumps(data, indent=2, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """The content of a JSON file of the folder."""
        return read_json(self.file(name))

    def read_text(self, name: str, most: int = LARGEST_TEXT) -> str:
        """The content of a text file of the folder."""
        try:
            return read_file(self.file(name), most).decode("utf-8")
        except UnicodeDecodeError:
            again = f"make it again with `w2c extract {self.path}`"
            raise InputError(f"{self.file(name)} is corrupt (it is not text); {again}.") from None

    def files(self) -> list[str]:
        """Names of the files that are there, in the order in which the stages write them."""
        return [name for name in FILES if self.has(name)]

    def drop_checkpoint(self) -> None:
        """Training is over. The subfolder is renamed first, so that it never is half there."""
        if self.checkpoint.exists():
            aside = self.path / f".{CHECKPOINT}.{os.getpid()}.part"
            os.rename(self.checkpoint, aside)
            shutil.rmtree(aside)


def begin(path: Path | str, source: str | TaskFile | FileSource, settings: Settings) -> RunFolder:
    """Create a run folder, or continue the one that is there.

    A place that holds anything but a run of the same source and settings is refused and left untouched.
    """
    path = Path(path)
    try:
        entries = _entries(path)
        if CONFIG in entries:
            check_plain(path)
            _check_same(path, source, settings)
        elif entries:
            raise InputError(
                f"{path} is not empty and not a run folder (it has no {CONFIG}); choose another --out."
            )
        path.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(path, source, settings, take_lock(path))
        _sweep(path)
        if not folder.has(CONFIG):
            folder._new = True
            named = source if isinstance(source, str) else source.to_dict()
            folder.write_json(
                CONFIG, {"source": named, "settings": settings.to_dict(), "version": __version__}
            )
        return folder
    except OSError as error:
        raise InputError(f"cannot write to {path}: {_reason(error)}; choose another --out.") from None


def open_existing(path: Path | str, *, alone: bool = True) -> RunFolder:
    """Open a run folder for a later stage; one that only reads it need not be `alone` with it."""
    path = Path(path)
    try:
        if not path.exists():
            raise InputError(f"there is no run folder {path}; `w2c run` and `w2c fit` make one.")
        if CONFIG not in _entries(path):
            raise InputError(f"{path} is not a run folder: it has no {CONFIG}.")
        check_plain(path)
        source, settings = read_config(path)
        return RunFolder(path, source, settings, take_lock(path) if alone else None)
    except OSError as error:
        raise InputError(f"cannot read {path}: {_reason(error)}.") from None


def read_config(path: Path) -> tuple[str | TaskFile | FileSource, Settings]:
    """Source and settings of a run folder."""
    file = path / CONFIG
    data = read_json(file)
    try:
        source = json_values.mapping(data, "a configuration")["source"]
        if isinstance(source, dict) and "task_file" in source:
            source = TaskFile.from_dict(source)
        elif isinstance(source, dict):
            source = FileSource.from_dict(source)
        else:
            source = json_values.name(source, "its source")
        return source, Settings.from_dict(data["settings"])
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise InputError(
            f"{file} is not a configuration that this version can read ({str(error).rstrip('.')}); "
            "it was left untouched."
        ) from None


def read_json(file: Path) -> Any:
    """The content of a JSON file; one that is not whole is refused and left as it is."""
    try:
        return json.loads(read_file(file).decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InputError(f"{file} is corrupt (it is not JSON); it was left untouched.") from None


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _entries(path: Path) -> set[str]:
    """Names in the folder; leftovers of writes that were cut short do not count."""
    if not path.exists() and not path.is_symlink():
        return set()
    if not path.is_dir():
        raise InputError(f"{path} is a file, not a folder; choose another --out.")
    return {name for name in os.listdir(path) if not _is_leftover(name)}


def _is_leftover(name: str) -> bool:
    return name.startswith(".") and name.endswith(".part")


def _sweep(path: Path) -> None:
    """Remove what a killed process left half-written; only the holder of the lock may."""
    for name in filter(_is_leftover, os.listdir(path)):
        leftover = path / name
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)


def _check_same(path: Path, source: str | TaskFile | FileSource, settings: Settings) -> None:
    """A file may have moved, but its content and the meaning of its columns must be the same."""
    old_source, old = read_config(path)
    if isinstance(source, FileSource) and isinstance(old_source, FileSource):
        if (source.size, source.sha256) != (old_source.size, old_source.sha256):
            raise InputError(
                f"{path} holds a run on other content than {source.path} has now; choose another --out."
            )
        roles = ("inputs", "targets", "sequence", "order", "time", "season", "categories", "missing")
        _compare(path, "columns", old_source, source, roles)
    elif isinstance(source, TaskFile) and isinstance(old_source, TaskFile) and source.name == old_source.name:
        if source.sha256 != old_source.sha256:
            raise InputError(
                f"{path} holds a run of {source.name} as {source.path} had it before it was changed; choose "
                "another --out."
            )
    elif old_source != source:
        raise InputError(f"{path} holds a run of {old_source}, not of {source}; choose another --out.")
    _compare(path, "settings", old, settings, [name for name in SETTINGS if name not in FREE_SETTINGS])


def _compare(path: Path, what: str, old: Any, asked: Any, names: Iterable[str]) -> None:
    """Refuse a run that differs from the one that the folder holds; the message says in what."""
    before, after = old.to_dict(), asked.to_dict()
    differing = [
        f"{name} ({before.get(name)} there, {after.get(name)} asked)"
        for name in names
        if before.get(name) != after.get(name)
    ]
    if differing:
        raise InputError(
            f"{path} holds a run with other {what}: {', '.join(differing)}; choose another --out."
        )


def take_lock(path: Path) -> int | None:
    """Lock the folder itself: no lock file to forget, and the system frees it when the process dies."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: no lock
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(
            f"{path} is in use by another process; wait for it or choose another --out."
        ) from None
    except OSError:  # a file system without locks
        with suppress(OSError):
            os.close(handle)
        return None
    return handle


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
