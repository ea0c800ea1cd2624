"""Finding a task by any of its names."""

from __future__ import annotations

from difflib import get_close_matches

from weights2code.errors import InputError
from weights2code.tasks import built_in, languages
from weights2code.tasks.task import Task

SUITES = ("paper", "mips", "appendix", "languages", "all")

_TASKS: tuple[Task, ...] = (*built_in.TASKS, *languages.TASKS)


def _plain(name: str) -> str:
    """Case, hyphens, underscores and spaces do not matter: Bit-Dot-Prod-Mod2 is bit_dot_prod_mod_2."""
    return "".join(character for character in name.casefold() if character.isalnum())


_BY_NAME = {_plain(name): task for task in _TASKS for name in (task.name, *task.aliases)}


def get(name: str) -> Task:
    """The task called `name` in one of the suites.

    Raises
    ------
    InputError
        If there is none; the message suggests the nearest names.
    """
    found = _BY_NAME.get(_plain(name))
    if found is not None:
        return found
    near = get_close_matches(_plain(name), list(_BY_NAME), n=3, cutoff=0.5)
    names = list(dict.fromkeys(_BY_NAME[match].name for match in near))
    hint = f"did you mean {' or '.join(names)}?" if names else "`w2c tasks` lists them all."
    raise InputError(f"there is no task called {name!r}: {hint}")


def all_tasks(suite: str = "all") -> tuple[Task, ...]:
    """The tasks of one suite: `paper` (29), `mips` (62), `appendix` (3), `languages` (20), or `all`."""
    if suite not in SUITES:
        raise InputError(f"there is no suite called {suite!r}: choose one of {', '.join(SUITES)}.")
    return tuple(task for task in _TASKS if suite == "all" or suite in task.suites)
