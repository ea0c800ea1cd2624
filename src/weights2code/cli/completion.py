"""Shell completion: one script a shell, made by shtab from the parser, so that it cannot fall behind it.

The scripts stand alone. A press of the tab key starts no Python: task names, options and choices are written
into the script, and files, folders and run folders are looked up by the shell itself.
"""

from __future__ import annotations

import argparse
from typing import Any

from weights2code.experiments.registry import NAMES

#: Run folders (they hold a config.json) here and one folder down, any folder where there is none; and for
#: bash what shtab leaves out: values behind an equals sign, and the options once every argument is given.
FUNCTIONS = {
    "bash": """
_w2c_run_dirs() {
    local found none=1
    for found in "$1"*/config.json "$1"*/*/config.json; do
        [[ -f $found ]] && none= && printf '%s\\n' "${found%/config.json}"
    done
    [[ -z $none ]] || compgen -d -- "$1"
}
_w2c_task_or_file() { compgen -W "TASKS" -- "$1"; compgen -f -- "$1"; }
_w2c() {
    local word current=${COMP_WORDS[COMP_CWORD]#=}
    local -a typed=("${COMP_WORDS[@]:0:COMP_CWORD}") COMP_WORDS=()
    local COMP_CWORD=0
    for word in "${typed[@]}"; do  # --option=value arrives as three words
        [[ $word == = ]] || COMP_WORDS[COMP_CWORD++]=$word
    done
    COMP_WORDS[COMP_CWORD]=$current
    _shtab_w2c
    if [[ -z $COMPREPLY && -z $current && ${COMP_WORDS[COMP_CWORD - 1]} != -* ]]; then
        COMP_WORDS[COMP_CWORD]=-
        _shtab_w2c
    fi
}
""",
    "zsh": """
_w2c_run_dirs() {
    local -a found=(*/config.json(N:h) */*/config.json(N:h))
    if (( $#found )) && [[ $PREFIX != (/|~|..)* ]]; then _multi_parts / found; else _files -/; fi
}
_w2c_task_or_file() { local -a names=(TASKS); _describe -t tasks task names; _files }
""",
    "fish": """
function _w2c_run_dirs
    set -l typed (commandline -ct)
    set -l found */config.json */*/config.json
    set found (string match -- "$typed*" (string replace /config.json '' -- $found))
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_directories $typed
    end
end
function _w2c_task_or_file
    printf '%s\\n' TASKS
    __fish_complete_path (commandline -ct)
end
""",
}


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that teaches `shell` (bash, zsh or fish) the commands of the parser."""
    import shtab

    from weights2code.tasks import all_tasks

    tasks = sorted({name for task in all_tasks() for name in (task.name, *task.aliases)}, key=str.casefold)
    for command in commands_of(parser).values():
        for action in command._actions:
            _describe(action, tasks)
    script = shtab.complete(parser, shell, preamble=FUNCTIONS[shell].replace("TASKS", " ".join(tasks)))
    return script.replace("-F _shtab_w2c w2c", "-F _w2c w2c") + "\n"


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands, by name."""
    return next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices


def _describe(action: Any, tasks: list[str]) -> None:
    """Tell shtab what may stand at a place, by the name that the help has for it."""
    import shtab

    if action.metavar == "TASK":
        action.choices = tasks
    elif action.metavar == "NAME" and not action.option_strings:
        action.choices = NAMES  # not choices of the parser, which suggests the nearest name
    elif action.metavar == "TASK|FILE":
        action.complete = _function("_w2c_task_or_file")
    elif action.metavar == "FILE":
        action.complete = shtab.FILE
    elif action.metavar == "DIR":
        action.complete = shtab.DIRECTORY if action.option_strings else _function("_w2c_run_dirs")


def _function(name: str) -> dict[str, str]:
    return {"bash": name, "zsh": name, "fish": f"({name})"}
