"""The text of the completion scripts, one function a shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weights2code.cli.completion import Command, Place

#: Options of `w2c` itself, before a command.
GLOBAL = (("--help", "show the help"), ("--version", "show the version"))


# -- bash ----------------------------------------------------------------------------------------------------

BASH = """\
# Completion of w2c for bash. Put this line into ~/.bashrc:  eval "$(w2c completion bash)"

_w2c_tasks={tasks}

# Run folders (they hold a config.json) here and one folder down; any folder where there is none.
_w2c_run_folders() {{
    local found
    for found in "$1"*/config.json "$1"*/*/config.json; do
        [[ -f $found ]] && COMPREPLY+=("${{found%/config.json}}")
    done
    ((${{#COMPREPLY[@]}})) || _w2c_paths -d "$1"
    compopt -o filenames 2>/dev/null
}}

_w2c_paths() {{
    local found
    while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen "$1" -- "$2")
    compopt -o filenames 2>/dev/null
}}

_w2c_words() {{
    local word
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$2")
}}

# What may stand at one place: $1 is its kind, $2 what was typed.
_w2c_place() {{
    case $1 in
        task) _w2c_words "$_w2c_tasks" "$2" ;;
        file) _w2c_paths -f "$2" ;;
        "task or file") _w2c_words "$_w2c_tasks" "$2"; _w2c_paths -f "$2" ;;
        folder) _w2c_paths -d "$2" ;;
        "run folder") _w2c_run_folders "$2" ;;
        words*) _w2c_words "${{1#words}}" "$2" ;;
    esac
}}

# The kind of the value of option $2 of command $1; nothing where it takes none.
_w2c_value() {{
    case "$1 $2" in
{values}
    esac
}}

_w2c() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local command=${{COMP_WORDS[1]}} position=0 i value
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _w2c_words "{commands} {flags}" "$current"
        return
    fi
    # --option=value arrives as three words
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $previous == "=" ]]; then
        previous=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    value=$(_w2c_value "$command" "$previous")
    if [[ -n $value ]]; then
        _w2c_place "$value" "$current"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ -n $(_w2c_value "$command" "${{COMP_WORDS[i]}}") ]]; then
            [[ ${{COMP_WORDS[i + 1]}} == "=" ]] && ((i += 2)) || ((i += 1))
        elif [[ ${{COMP_WORDS[i]}} != -* ]]; then
            ((position += 1))
        fi
    done
    if [[ $current == -* ]]; then
        position=options
    fi
    case "$command $position" in
{places}
    esac
}}

complete -F _w2c w2c
"""


def bash(commands: Sequence[Command], tasks: Sequence[str]) -> str:
    """The script for bash 4 and later."""
    values, places = [], []
    for command in commands:
        for option in command.options:
            if option.kind != "nothing":
                values.append(f'        "{command.name} {option.flag}") echo {_bash_kind(option)} ;;')
        flags = " ".join(option.flag for option in command.options)
        places.append(f'        "{command.name} options") _w2c_words {shlex.quote(flags)} "$current" ;;')
        for position, place in enumerate(command.positionals):
            head = f'        "{command.name} {position}")'
            places.append(f'{head} _w2c_place {_bash_kind(place)} "$current" ;;')
        places.append(f'        "{command.name} "*) _w2c_words {shlex.quote(flags)} "$current" ;;')
    return BASH.format(
        tasks=shlex.quote(" ".join(tasks)),
        values="\n".join(values),
        places="\n".join(places),
        commands=" ".join(command.name for command in commands),
        flags=" ".join(flag for flag, _ in GLOBAL),
    )


def _bash_kind(place: Place) -> str:
    return shlex.quote(f"words{' '.join(place.words)}" if place.kind == "words" else place.kind)


# -- zsh -----------------------------------------------------------------------------------------------------

ZSH = """\
#compdef w2c
# Completion of w2c for zsh. Put this line into ~/.zshrc, below compinit:  eval "$(w2c completion zsh)"

_w2c_tasks() {{
    local -a names=({tasks})
    _describe -t tasks task names
}}

# Run folders (they hold a config.json) here and one folder down; any folder where there is none.
_w2c_run_folders() {{
    local -a found=(*/config.json(N:h) */*/config.json(N:h))
    if (( $#found )) && [[ $PREFIX != (/|~|..)* ]]; then
        _multi_parts / found
    else
        _files -/
    fi
}}

_w2c() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe -t commands command commands
        _arguments {flags}
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT -= 1 ))
    case $command in
{cases}
    esac
}}

if [[ ${{zsh_eval_context[-1]}} == loadautofunc ]]; then _w2c "$@"; else compdef _w2c w2c; fi
"""

_ZSH_KINDS = {
    "task": "_w2c_tasks",
    "file": "_files",
    "task or file": "_alternative 'tasks:task:_w2c_tasks' 'files:file:_files'",
    "folder": "_files -/",
    "run folder": "_w2c_run_folders",
    "text": "",
}


def zsh(commands: Sequence[Command], tasks: Sequence[str]) -> str:
    """The script for zsh; it can be evaluated or put into a file `_w2c` of `fpath`."""
    cases = []
    for command in commands:
        lines = [shlex.quote(_zsh_place(place)) for place in (*command.options, *command.positionals)]
        listed = " \\\n                ".join(lines)
        cases.append(f"        {command.name})\n            _arguments -S \\\n                {listed} ;;")
    return ZSH.format(
        tasks=" ".join(shlex.quote(name) for name in tasks),
        commands="\n".join(
            f"        {shlex.quote(f'{command.name}:{command.help}')}" for command in commands
        ),
        flags=" ".join(shlex.quote(f"{flag}[{text}]") for flag, text in GLOBAL),
        cases="\n".join(cases),
    )


def _zsh_place(place: Place) -> str:
    text = place.help.replace("\\", "\\\\").replace("[", r"\[").replace("]", r"\]").replace(":", r"\:")
    if place.kind == "nothing":
        return f"{place.flag}[{text}]"
    action = f"({' '.join(place.words)})" if place.kind == "words" else _ZSH_KINDS[place.kind]
    if not place.flag:
        return f":{text}:{action}"
    many = "*" if "repeated" in place.help else ""
    return f"{many}{place.flag}=[{text}]:{place.flag.lstrip('-')}:{action}"


# -- fish ----------------------------------------------------------------------------------------------------

FISH = """\
# Completion of w2c for fish. Put this line into ~/.config/fish/config.fish:  w2c completion fish | source

set -g __w2c_tasks {tasks}

# The number of positional arguments after the command; options in $argv take a value.
function __w2c_position
    set -l words (commandline -opc)
    set -l count -2
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
        else if contains -- $word $argv
            set skip 1
        else if not string match -q -- '-*' $word
            set count (math $count + 1)
        end
    end
    echo $count
end

# Run folders (they hold a config.json) here and one folder down; any folder where there is none.
function __w2c_run_folders
    set -l typed (commandline -ct)
    set -l found */config.json */*/config.json
    set found (string match -- "$typed*" (string replace /config.json '' -- $found))
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_directories $typed
    end
end

complete -c w2c -f
{lines}
"""

_FISH_KINDS = {
    "task": " -fa '$__w2c_tasks'",
    "file": " -F",
    "task or file": " -Fa '$__w2c_tasks'",
    "folder": " -fa '(__fish_complete_directories (commandline -ct))'",
    "run folder": " -fa '(__w2c_run_folders)'",
    "text": " -f",
    "nothing": "",
}


def fish(commands: Sequence[Command], tasks: Sequence[str]) -> str:
    """The script for fish 3 and later."""
    start = "complete -c w2c -n __fish_use_subcommand"
    lines = [f"{start} {_fish_flag(flag)} -d {_fish_quote(text)}" for flag, text in GLOBAL]
    for command in commands:
        lines.append(f"{start} -fa {command.name} -d {_fish_quote(command.help)}")
        seen = f"__fish_seen_subcommand_from {command.name}"
        for option in command.options:
            takes = "" if option.kind == "nothing" else " -r"
            head = f"complete -c w2c -n {_fish_quote(seen)} {_fish_flag(option.flag)}{takes}"
            lines.append(f"{head}{_fish_kind(option)} -d {_fish_quote(option.help)}")
        taking = " ".join(option.flag for option in command.options if option.kind != "nothing")
        for position, place in enumerate(command.positionals):
            condition = f"{seen}; and test (__w2c_position {taking}) = {position}"
            lines.append(f"complete -c w2c -n {_fish_quote(condition)}{_fish_kind(place)}")
    return FISH.format(tasks=" ".join(_fish_quote(name) for name in tasks), lines="\n".join(lines))


def _fish_kind(place: Place) -> str:
    if place.kind == "words":
        return f" -fa {_fish_quote(' '.join(place.words))}"
    return _FISH_KINDS[place.kind]


def _fish_flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: dict[str, Callable[[Sequence[Command], Sequence[str]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}
