"""A task of one's own in a Python file, `file.py:name`, and how a run is bound to it.

Running the file is running a program, so it happens only when somebody names the file: a run folder says
which file it was, by its content, and cannot have it run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from weights2code import json_values
from weights2code.errors import InputError, Weights2CodeError
from weights2code.tasks.task import Task


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A Python file and the name of a task in it; `sha256` ties a run to the content.

    `given` says that whoever runs the command named the file; one that a folder names is not run.
    """

    path: str
    name: str
    sha256: str
    given: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.name

    def to_dict(self) -> dict[str, Any]:
        return {"task_file": self.path, "name": self.name, "sha256": self.sha256}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> TaskFile:
        """Inverse of `to_dict`; the file is not one that was given."""
        known = json_values.mapping(data, "a source")
        if set(known) != {"task_file", "name", "sha256"}:
            raise ValueError("a task of one's own has a file, a name and a digest")
        return TaskFile(
            json_values.name(known["task_file"], "a file"),
            json_values.name(known["name"], "a task"),
            json_values.text(known["sha256"], "a digest"),
        )


def is_task_file(text: str) -> bool:
    """Whether a text names a file of tasks and not a built-in one."""
    return text.endswith(".py") or ".py:" in text


def task_file(text: str) -> TaskFile:
    """The file and the name that `file.py:name` says; nothing is run yet."""
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py"):
        file, name = text, ""
    path = Path(file).absolute()
    if not path.is_file():
        raise InputError(f"there is no file {file}; check the name.")
    if not name:
        raise InputError(f"name the task in {file} too, such as {file}:task.")
    return TaskFile(str(path), name, digest(path), given=True)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_task(source: TaskFile) -> Task:
    """Run the file, which must be what it was when it was named, and take the task from it."""
    path = Path(source.path)
    if not source.given:
        raise InputError(
            f"the task {source.name} is defined in {path.name}, and a run folder cannot have a file run; "
            f"name it with --task {path.name}:{source.name}."
        )
    if digest(path) != source.sha256:
        raise InputError(f"{path} has changed since the run began; restore it, or begin a new run.")
    found = names_in(path)
    if source.name not in found:
        tasks = [name for name, value in found.items() if isinstance(value, Task)]
        near = get_close_matches(source.name, tasks, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"its tasks are {', '.join(tasks)}."
        hint = hint if tasks else "it declares no weights2code.Task."
        raise InputError(f"{path.name} has no task called {source.name!r}: {hint}")
    task = found[source.name]
    if not isinstance(task, Task):
        raise InputError(
            f"{source.name} in {path.name} is of type {type(task).__name__}; make it a weights2code.Task."
        )
    return task.called(source.name)


def names_in(path: Path) -> dict[str, Any]:
    """The names that a file defines; whatever it raises is one sentence."""
    name = f"weights2code_file_{digest(path)[:12]}"
    if name in sys.modules:
        return vars(sys.modules[name])
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of the file look themselves up there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Weights2CodeError as error:
        del sys.modules[name]
        raise InputError(f"{path.name}, line {_line(error, path)}: {error}") from None
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        what = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
        line = error.lineno if isinstance(error, SyntaxError) else _line(error, path)
        raise InputError(f"{path.name}, line {line}, raises {what.rstrip('.')}.") from None
    finally:
        sys.path.remove(str(path.parent))
    return vars(module)


def _line(error: BaseException, path: Path) -> int:
    """The line of the file that an error comes from."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
