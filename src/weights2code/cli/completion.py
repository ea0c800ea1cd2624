"""Shell completion: one script a shell, written from the parser, so that it cannot fall behind it.

The scripts stand alone. A press of the tab key starts no Python: task names, options and choices are written
into the script, and files, folders and run folders are looked up by the shell itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from weights2code.cli.completion_shells import SHELLS
from weights2code.experiments.registry import NAMES

#: What may stand at one place: one of a list of words, or something that the shell finds.
Kind = Literal["words", "task", "file", "task or file", "folder", "run folder", "text", "nothing"]

#: What a place is for, by the name that the help has for it.
KINDS: dict[str, Kind] = {"TASK": "task", "FILE": "file", "TASK|FILE": "task or file", "DIR": "folder"}


@dataclass(frozen=True, slots=True)
class Place:
    """One option, or one positional argument where `flag` is empty."""

    flag: str
    kind: Kind
    words: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command with its places in the order of the help."""

    name: str
    help: str
    positionals: tuple[Place, ...]
    options: tuple[Place, ...]


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that teaches `shell` (bash, zsh or fish) the commands of the parser."""
    from weights2code.tasks import all_tasks

    tasks = sorted({name for task in all_tasks() for name in (task.name, *task.aliases)}, key=str.casefold)
    return SHELLS[shell](list(commands_of(parser)), tasks)


def commands_of(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """The commands of a parser, as data."""
    chosen = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {action.dest: action.help or "" for action in chosen._choices_actions}
    for name, command in chosen.choices.items():
        actions = command._actions
        yield Command(
            name,
            summaries.get(name, ""),
            tuple(_place(action, "") for action in actions if not action.option_strings),
            tuple(_place(action, flag) for action in actions for flag in action.option_strings),
        )


def _place(action: argparse.Action, flag: str) -> Place:
    words = tuple(str(choice) for choice in action.choices or ())
    if action.metavar == "NAME" and not flag:
        words = NAMES  # experiments are not choices of the parser, which suggests the nearest name
    help_text = (action.help or "").replace("%%", "%")
    if action.nargs == 0:
        return Place(flag, "nothing", (), help_text)
    if words:
        return Place(flag, "words", words, help_text)
    kind: Kind = KINDS.get(str(action.metavar), "text")
    if kind == "folder" and not flag:
        kind = "run folder"
    return Place(flag, kind, (), help_text)
