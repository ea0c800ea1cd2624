"""The commands and their options. Those of a run are the fields of `Settings`, which say all about them."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from weights2code import __version__
from weights2code.errors import InputError
from weights2code.options import Option
from weights2code.roles import ROLES
from weights2code.settings import NUMBERS, SEARCH, SETTINGS, SIZES, Settings, sizes_in

#: `tasks.SUITES`, without the half second that importing the tasks would take.
SUITES = ("paper", "mips", "appendix", "languages", "all")

#: `export.FORMATS` and `export.ALIASES`, likewise.
EXPORTS = ("c", "javascript", "sql", "spreadsheet", "latex", "onnx", "excel", "proof")

EXAMPLES = """\
examples:
  w2c run parity_last2                     train, extract a program, certify it
  w2c run Div_3 --seed 1 --out runs/div3   the names of both suites work; the same command resumes
  w2c fit log.csv --inputs heater,outside --targets room --order minute
  w2c train spring --hide "y[t-1]" --hide "y[t-2]" --out runs/spring
  w2c extract runs/spring && w2c verify runs/spring
  w2c predict runs/own tomorrow.csv --out tomorrow-with-room.csv
  w2c tasks --suite paper

exit codes: 0 verified (or done), 1 the program misses its specification, 2 bad input, 3 not extracted
"""

TRAIN_EXAMPLES = """\
examples:
  w2c {command} parity_last2 --out runs/parity
  w2c {command} div_3 --architecture L2H3M2K4 --out runs/div3
  w2c {command} sum_last2 --recipe paper --device auto --out runs/paper
  w2c {command} mine.py:gate --out runs/gate     a weights2code.Task in a Python file

The same command with the same --out continues where it stopped, even after a power cut; --time-limit and
--device may differ, everything else must be the same.
"""


EXAMPLES_OF = {
    "fit": """\
examples:
  w2c fit log.csv --inputs heater,outside --targets room --order minute
  w2c fit machines.parquet --inputs load --targets temperature --sequence machine --order time
  w2c fit arrays.npz --inputs x --targets y --out runs/own
  w2c fit door.csv --targets state --sequence door --missing drop
  grep -v test log.csv | w2c fit - --inputs heater --targets room

Columns may hold texts. Without --inputs every column that has no other role is read. CSV files need a header
line. Without --sequence all rows are one sequence, which is cut into windows; past values of the targets are
used where they help. A part of the data is kept back for the certificate. The same command with the same
--out continues where it stopped. A table on standard input is kept in the run folder, as rows.csv.
""",
    "tasks": """\
examples:
  w2c tasks --suite paper
  w2c tasks --suite languages
  w2c tasks --json | jq -r '.[].name'
""",
    "extract": """\
examples:
  w2c train spring --out runs/spring && w2c extract runs/spring
  w2c extract runs/spring --json
""",
    "verify": """\
examples:
  w2c verify w2c-runs/parity_last2-seed0
  w2c verify runs/spring --quiet && cp runs/spring/program.py .

The text of program.py is run too, in a limited process, and compared with the formula.
""",
    "report": """\
examples:
  w2c report w2c-runs/parity_last2-seed0
  w2c report runs/spring --plots svg
""",
    "predict": """\
examples:
  w2c predict w2c-runs/log-seed0 tomorrow.csv --out tomorrow-with-room.csv
  w2c predict runs/own more.parquet --out more-predicted.parquet
  sort -n today.csv | w2c predict runs/own - | head

The new table needs the columns that the program reads, and those that told sequences apart and ordered rows
in the fit. It comes out in its own format with the target columns computed and everything else as it was;
CSV goes to standard output unless --out names a file. Values outside the domain that the certificate covers
are computed too, and said on standard error with their rows. Exit code 1: the program of the folder failed.
""",
    "export": """\
examples:
  w2c export runs/own --to c                        program.c: a function over arrays of doubles
  w2c export runs/own --to javascript --out rule.mjs
  w2c export runs/own --to spreadsheet              program.xlsx: a sheet of formulas
  w2c export runs/own --to sql --out -              a query for SQLite and DuckDB, on standard output

What a language cannot hold is refused: sql and onnx carry a fixed number of values from row to row, so they
have no lookups among all earlier rows.
""",
    "decompile": """\
examples:
  w2c decompile parity.onnx --inputs x=0..1 --length 10
  w2c decompile models.py:gru --inputs x=0..1 --against parity --out runs/gru
  w2c decompile filter.py:average --inputs v=0.0..1.0 --read real:1e-3
  w2c decompile tagger.py:net --inputs key=0..3,value=0..4 --one-hot 5 --longest 64

The model is asked, not read. A range of whole numbers is written 0..4, one of reals 0.0..1.0. A Python file
is executed, in a process of its own. Exit code 0: no departure was found; 1: the model departs from its
program; 2: the model or an option cannot be used; 3: no program was found.
""",
    "bench": """\
examples:
  w2c bench --suite mips --seeds 0,1,2 --out runs/mips
  w2c bench parity_last2 div_3 --seeds 0-9 --jobs 2
  w2c bench --suite paper --engine ray --address auto --out runs/paper

Each run is a folder in DIR/runs; what is done is skipped, so the same command goes on after a stop of any
kind. The table is left as bench.json, bench.csv and bench.md. Exit code 0: every run is solved; 1: not every.
""",
    "completion": """\
examples:
  eval "$(w2c completion bash)"      a line for ~/.bashrc
  eval "$(w2c completion zsh)"       a line for ~/.zshrc, below compinit
  w2c completion fish | source       a line for ~/.config/fish/config.fish
""",
}


class Parser(argparse.ArgumentParser):
    """argparse, with errors as one sentence, which names what may have been meant."""

    #: The arguments of the whole command.
    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        sentence = message.removeprefix("argument ").replace(": must be ", " must be ").rstrip(".")
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", sentence):
            sentence += _meant(found[1], re.findall(r"[\w-]+", found[2]))
        line = f"{sentence} (`{self.prog} --help` lists the options)."
        print(f"{self.prog}: {line}", file=sys.stderr)
        if "--json" in self.given:
            print(json.dumps({"exit_code": 2, "error": line}, indent=2))
        sys.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, but that the parser of a command refuses itself what it does not know."""
        Parser.given = list(sys.argv[1:] if args is None else args) if self.prog == "w2c" else Parser.given
        known, extra = super().parse_known_args(args, namespace)
        if extra:
            flag = extra[0].partition("=")[0]
            self.error(f"there is no {flag}{_meant(flag, [*self._option_string_actions])}")
        return known, extra


def _meant(text: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(text, known, 1, 0.65)
    return f"; did you mean {near[0]}?" if near else ""


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = Parser(
        prog="w2c",
        description="Train a Discrete Transformer on sequences; get back a short, certified Python program.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"weights2code {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, usage, add) in COMMANDS.items():
        command = commands.add_parser(
            name,
            usage=f"w2c {name} {usage}" if usage else None,  # short where the options are many
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=EXAMPLES_OF.get(name) or TRAIN_EXAMPLES.format(command=name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add(command)
        if name not in ("tasks", "completion"):
            group = command.add_argument_group("output")
            group.add_argument("--quiet", action="store_true", help="no progress; only the result")
            group.add_argument(
                "--json", action="store_true", help="the result as one JSON object, no progress"
            )
    return parser


def flags_of(command: str) -> frozenset[str]:
    """The options of a command."""
    (commands,) = (action for action in build_parser()._actions if isinstance(action.choices, dict))
    assert isinstance(commands.choices, dict)
    return frozenset(commands.choices[command]._option_string_actions)


def settings_from(options: argparse.Namespace) -> Settings:
    """The settings that the options ask for; what was not given keeps its default."""
    given = {name: getattr(options, name, None) for name in SETTINGS}
    for name, size in sizes_in(options.architecture).items() if getattr(options, "architecture", "") else ():
        if given[name] not in (None, size):
            raise InputError(f"--architecture and --{name} ask for {size} and {given[name]} {name}.")
        given[name] = size
    return Settings(**{name: value for name, value in given.items() if value is not None})


def _tasks(parser: Any) -> None:
    parser.add_argument("--suite", choices=SUITES, default="all", help="default: all")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _run(parser: Any) -> None:
    parser.add_argument(
        "task",
        metavar="TASK|FILE",
        help="a built-in task (`w2c tasks` lists them), or file.py:name for one of your own",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="run folder; default w2c-runs/TASK-seedN in the current directory"
    )
    _add_settings(parser)


def _fit(parser: Any) -> None:
    parser.add_argument("file", metavar="FILE", help="CSV, Parquet, Excel or NPZ; - is standard input (CSV)")
    _add_columns(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="run folder; default w2c-runs/FILE-seedN in the current directory"
    )
    _add_settings(parser, without=("samples", "length"))


def _train(parser: Any) -> None:
    parser.add_argument(
        "task",
        metavar="TASK|FILE",
        help="a built-in task, file.py:name for one of your own, or with --inputs and --targets a table",
    )
    _add_columns(parser)
    parser.add_argument("--out", metavar="DIR", required=True, help="run folder, new or of the same command")
    _add_settings(parser)


def _later(parser: Any) -> None:
    parser.add_argument("folder", metavar="DIR", help="run folder of `w2c train` or `w2c run`")
    parser.add_argument("--task", metavar="FILE:NAME", help="of a run of a task of your own: where it is")


def _report(parser: Any) -> None:
    _later(parser)
    parser.add_argument(
        "--plots", choices=("svg", "png"), help="write every drawing as a file too, into DIR/plots"
    )


def _predict(parser: Any) -> None:
    parser.add_argument("folder", metavar="DIR", help="run folder of `w2c run` or `w2c fit`")
    parser.add_argument("file", metavar="FILE", help="CSV, Parquet, Excel or NPZ; - is standard input (CSV)")
    parser.add_argument("--out", metavar="FILE", help="where the table goes; standard output by default")
    for name in ("sequence", "order", "decimal", "dates"):
        add_option(parser, name, ROLES[name])
    parser.add_argument("--wrong", metavar="FILE", help="the rows in which the table has something else")


def _export(parser: Any) -> None:
    parser.add_argument("folder", metavar="DIR", help="run folder of `w2c run` or `w2c fit`")
    parser.add_argument(
        "--to", choices=EXPORTS, required=True, help="the language; proof: what others can check"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="where it goes; default program.c (...) in DIR, proof/ for a proof"
    )
    parser.add_argument(
        "--task", metavar="FILE:NAME", help="for a proof about a task of your own: where it is"
    )


def _decompile(parser: Any) -> None:
    parser.add_argument("model", metavar="MODEL", help="file.onnx, file.py:name, or a run folder")
    parser.add_argument(
        "--inputs", metavar="X=A..B", required=True, help="columns and their ranges: x=0..1,v=0.0..1.0"
    )
    parser.add_argument("--out", metavar="DIR", help="folder; default w2c-runs/MODEL-decompiled")
    parser.add_argument("--against", metavar="TASK", help="what was meant: a task, or file.py:name")
    group = parser.add_argument_group("how the model is asked; found out where it is not said")
    group.add_argument("--length", metavar="N", type=whole, default=12, help="its own length (default 12)")
    group.add_argument("--longest", metavar="N", type=whole, help="the most positions that it takes")
    group.add_argument(
        "--read", metavar="HOW", default="auto", help="outputs: argmax, round, real:1e-3, or auto (default)"
    )
    group.add_argument("--at", choices=("every", "last"), help="where it answers")
    group.add_argument("--one-hot", metavar="N", type=whole, help="each column as a vector of N places")
    group.add_argument("--time-first", action="store_true", help="arrays are (T, n, columns)")
    group.add_argument("--queries", metavar="N", type=whole, help="sequences it may be asked (200000)")
    group = parser.add_argument_group(SEARCH)
    add_option(group, "seed", SETTINGS["seed"])
    group.add_argument("--time-limit", metavar="X", type=number, help="seconds for everything (default 300)")


def _bench(parser: Any) -> None:
    from weights2code.cli.engine_options import add_engine_options

    parser.add_argument("tasks", metavar="TASK", nargs="*", help="built-in tasks; by default the whole suite")
    parser.add_argument("--suite", choices=SUITES, help="default paper")
    parser.add_argument("--seeds", metavar="N,N", default="0", help="such as 0,1,2 or 0-4 (default 0)")
    parser.add_argument("--out", metavar="DIR", help="folder of the sweep; default w2c-runs/bench-SUITE")
    add_engine_options(parser)
    _add_settings(parser, without=("seed",))


def _experiment(parser: Any) -> None:
    from weights2code.cli import experiment
    from weights2code.cli.engine_options import add_engine_options

    parser.epilog = experiment.EXAMPLES
    experiment.add_options(parser)
    add_engine_options(parser)


def _completion(parser: Any) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to print it for")


#: Of each command what it does, its usage line where that is not left to argparse, and what adds its options.
COMMANDS: dict[str, tuple[str, str, Callable[[Any], None]]] = {
    "tasks": ("list the built-in tasks", "", _tasks),
    "run": (
        "train on a task, extract a program, certify it",
        "TASK|file.py:name [--out DIR] [--seed N] [options]",
        _run,
    ),
    "fit": (
        "train on a file of your own, extract a program, certify it",
        "FILE --targets Y [--inputs A,B] [--sequence NAME] [--order NAME] [--out DIR] [options]",
        _fit,
    ),
    "train": (
        "train on a task or a file and leave the model",
        "TASK --out DIR [options], or FILE --inputs A,B --targets Y --out DIR [options]",
        _train,
    ),
    "extract": ("extract a program from the trained model of a run folder, and certify it", "", _later),
    "verify": ("check the program of a run folder against its specification again", "", _later),
    "report": ("make the report of a run folder again", "", _report),
    "predict": (
        "run the program of a run folder over a new table",
        "DIR FILE [--out FILE] [--sequence NAME] [--order NAME]",
        _predict,
    ),
    "export": ("write a program in another language", "", _export),
    "decompile": (
        "find the program of a model that exists, and where the model leaves it",
        "MODEL --inputs x=0..1[,v=0.0..1.0] [--length N] [--against TASK] [--out DIR] [options]",
        _decompile,
    ),
    "bench": (
        "run many tasks and seeds, and say what was solved",
        "[TASK ...] [--suite NAME] [--seeds 0,1,2] [--engine local|ray] [--out DIR] [options]",
        _bench,
    ),
    "experiment": (
        "reproduce one table or figure of the paper, its numbers beside ours",
        "NAME [--out DIR] [--seeds 0,1,2] [options]",
        _experiment,
    ),
    "completion": ("print a script that completes commands", "", _completion),
}


def _add_columns(parser: Any) -> None:
    group = parser.add_argument_group("columns of the file")
    for name, role in ROLES.items():
        add_option(group, name, role)


def _add_settings(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> None:
    groups = {title: parser.add_argument_group(title) for title in (SEARCH, SIZES, NUMBERS)}
    for name, setting in SETTINGS.items():
        if name not in without:
            hidden = {"help": argparse.SUPPRESS} if setting.group == SIZES else {}
            add_option(groups[setting.group], name, setting, **hidden)
    groups[SIZES].add_argument(
        "--architecture",
        metavar="L2H3M2",
        help="a letter and a number for each size: L layers, H heads, M sub-MLPs, K operands and U hidden "
        "units of each, P, E, A and S further heads (pointer, equality, mean, sum)",
    )


def add_option(parser: Any, name: str, known: Option, **changes: Any) -> None:
    """An option as the command line has it; `changes` are for `add_argument`."""
    shown: dict[str, Any] = {"choices": known.choices} if known.choices else {"metavar": known.metavar}
    read: Any = {int: whole, float: number, str: str}[known.kind]
    if known.repeated:
        shown["action"] = "append"
    elif known.several:
        metavar = "NAME[,NAME...]" if known.choices else known.metavar
        read, shown = _listed, {"metavar": metavar, "action": "extend"}
    flag = "--" + name.replace("_", "-")
    parser.add_argument(flag, dest=name, type=read, **{"help": known.help, **shown, **changes})


def _listed(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",")]
