"""Take again every figure that README and documentation show, as far as `src/` has changed since.

    python benchmarks/renew.py --list                     every record, its age, what taking it again costs
    python benchmarks/renew.py --processes 16             all that is out of date
    python benchmarks/renew.py mips own_data              some of it
    python benchmarks/renew.py --all                      also what is as of now

The same command goes on where it was stopped: what is done names the `src/` that it was taken from and is
passed over, and what is under way goes on from the rows that are there, unless `src/` has changed since. What
this machine cannot do (no GPU) is named and left. The pages are filled at the end.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
from figures import ROOT, current, state, where
from weights2code.experiments.engines.local import THREADS, cores
from weights2code.experiments.provenance import CHANGES
from weights2code.experiments.records import Record
from weights2code.experiments.registry import NAMES


@dataclass(frozen=True, slots=True)
class Figure:
    """A record, and how it is taken again; paths are from the root.

    Of the steps `{processes}` and `{out}` are filled in: a folder of its own for this `src/`, from which
    the files in `copied` are then taken.
    """

    name: str
    record: str
    steps: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    needs: str = ""
    #: Why a record without steps is never taken again.
    kept: str = ""


def script(name: str, path: str, asked: str = "", record: str = "") -> Figure:
    """The command of a benchmark, whose record lies in `results/`."""
    folder, _, file = path.partition("/")
    place = f"benchmarks/{folder}/results/{record or file}.json"
    step = f"python benchmarks/{path}.py {asked}".strip()
    return Figure(name, place, (step,))


def kept(name: str, record: str, why: str) -> Figure:
    return Figure(name, f"benchmarks/{record}.json", kept=why)


def bench(name: str, asked: str) -> Figure:
    step = f"w2c bench {asked} --jobs {{processes}} --out {{out}}"
    return Figure(name, f"benchmarks/suites/results/{name}.json", (step,), ("bench.json",))


#: How an experiment is asked for in each way, and which are.
WAYS = {"fast": "", "paper": " --recipe paper --device cuda", "concat": " --layout concat"}
#: With the paper's recipe: those that look at the models of the whole protocol, and those that train.
OF_PROTOCOL = ("table1", "architectures", "pruning", "dynamics")
TRAINED = ("protocol", "arity", "l1", "annealing")


def experiment(name: str, way: str = "fast") -> Figure:
    full = name if way == "fast" else f"{name}_{way}"
    asked, needs = WAYS[way], "CUDA" if way == "paper" else ""
    if way == "paper" and name in OF_PROTOCOL:
        asked, needs = " --recipe paper --models {out}/../protocol_paper", ""
    step = f"w2c experiment {name}{asked} --jobs {{processes}} --out {{out}}"
    files = ("experiment.json", "figure.svg")
    return Figure(full, f"benchmarks/experiments/{full}/experiment.json", (step,), files, needs)


#: The attacks on what the system claims, in the order of their page.
ATTACKS = (
    "mutants", "machines", "steps", "awkward", "weights", "networks", "chain", "unsolvable", "folders",
    "provenance", "files", "kills", "interrupts", "repeats",
)  # fmt: skip
#: Options that take all processes.
ALL = "--processes {processes}"
#: Experiments that were, whose records keep their tables.
FORMER = ("unmatched_heads", "baselines", "cost")
#: Records whose question is answered: their script stands at the commit that they name.
ANSWERED = {
    **{name: f"experiments/{name}/experiment" for name in (*FORMER, "unmatched_heads_paper")},
    "languages": "languages/results/languages", "language_rows": "languages/results/rows",
    "links": "network/results/links", "operon": "own_data/results/operon",
    "tables": "tables/results/tables", "wide": "own_data/results/wide", "large": "own_data/results/large",
    "deep": "own_data/results/deep", "deep_before": "own_data/results/deep_before",
    "random_programs": "random_programs/results/seed3", "random_fresh": "random_programs/results/fresh",
    "random_deep": "random_programs/results/fresh_deep", "random_hidden": "random_programs/results/hidden",
    "fixed_length": "suites/results/fixed_length",
    "symbolic_regression": "symbolic_regression/results/results",
    "speed_cpu": "training/results/speed_cpu", "speed_cuda": "training/results/speed_cuda",
    "fused_step": "training/results/fused_step", "noise": "training/results/noise",
    "recipe": "training/results/recipe", "recipe_rates": "training/results/recipe_rates",
    "recipe_drops": "training/results/recipe_drops", "unread": "training/results/unread",
}  # fmt: skip
UNSEEN = {
    "fresh_first": "own_data/results/fresh_first",
    "random_first": "random_programs/results/fresh_first",
}


def figures() -> dict[str, Figure]:
    """Every record by its name; what others are measured against comes first."""
    found = [
        bench("mips", "--suite mips --seeds 0,1,2"),
        bench("four", "div_3 magnetic bit_addition balanced_parenthesis --seeds 0-4"),
        *(experiment(name) for name in NAMES),
        *(experiment(name, "paper") for name in (*TRAINED, *OF_PROTOCOL)),
        experiment("robustness", "concat"),
        *(script(f"decompile_{part}", "decompile/measure", f"--part {part}", part)
          for part in ("gallery", "damaged", "mistaken")),
        kept("decompile_others", "decompile/results/others", "models of other people are not here"),
        script("own_data", "own_data/run", record="own_data"),
        *(kept(name, place, "they are unseen only once") for name, place in UNSEEN.items()),
        *(kept(name, place, "its question is answered") for name, place in ANSWERED.items()),
        script("kept", "ledger/fresh", f"--kept {ALL}", "kept"),
        Figure("origins", "benchmarks/ledger/results/origins.json",
               (f"python benchmarks/ledger/replay.py runs {ALL}", "python benchmarks/ledger/origins.py")),
        *(script(name, "reliability/run", f"{name} {ALL}", name) for name in ATTACKS),
        Figure("picture", "docs/pictures/pipeline.json", kept="it was drawn by a script of that commit"),
    ]  # fmt: skip
    return {figure.name: figure for figure in found}


def why_not(figure: Figure, again: bool) -> str:
    """Why a record is left as it is; empty if it is to be taken."""
    if figure.kept:
        return f"kept: {figure.kept}"
    record = Record.read(ROOT / figure.record)
    if record and state(record.head).kind == "same" and not again:
        return "as of now"
    return f"needs {figure.needs}, which is not here" if figure.needs and not has_gpu() else ""


def has_gpu() -> bool:
    """Whether this machine has what some records need."""
    import torch

    return torch.cuda.is_available()


def listing(figure: Figure, processes: int, again: bool) -> str:
    """What would be done with a record, and what that costs."""
    record = Record.read(ROOT / figure.record)
    head = record.head if record else {}
    taken = f"{where(head)}; src/ {state(head).text}" if record else "not measured yet"
    seconds = head.get("wall_seconds", head.get("seconds"))
    if head.get("run_seconds"):
        seconds = head["run_seconds"] / (processes if any("{processes}" in s for s in figure.steps) else 1)
    cost = f", about {seconds / 60:.1f} minutes" if seconds else ""
    lines = [f"{figure.name:22s} {why_not(figure, again) or 'take'}{cost}", f"{figure.record}, {taken}"]
    return f"\n{'':22s} ".join([*lines, *(f"$ {step}" for step in figure.steps)])


def take(figure: Figure, tree: str, processes: int, again: bool) -> bool:
    """Take one record; whether it is of this `src/` now, whatever the exit codes of its steps say.

    (They are not 0 where a task is not solved or an attack found something, which is a result.)
    """
    out = Path("w2c-runs/renew") / tree[:10] / figure.name
    if again:
        shutil.rmtree(ROOT / out, ignore_errors=True)
    for step in figure.steps:
        run(step.format(processes=processes, out=out.as_posix()))
    for file in figure.copied:
        if (ROOT / out / file).exists():
            place = ROOT / figure.record
            target = place if file.endswith(".json") else place.parent / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / out / file, target)
    record = Record.read(ROOT / figure.record)
    return record is not None and record.head.get("src") == tree


def run(step: str) -> None:
    """One command, on the source of this checkout whatever is installed."""
    first, *words = shlex.split(step)
    program = {"python": [sys.executable], "w2c": [sys.executable, "-m", "weights2code"]}[first]
    path = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    print(f"$ {step}", flush=True)
    single = dict.fromkeys(THREADS, "1")  # processes take the cores, threads of each would fight for them
    subprocess.run([*program, *words], cwd=ROOT, env={**os.environ, **single, "PYTHONPATH": path})


def renew(chosen: Sequence[Figure], processes: int, again: bool) -> int:
    """Take what is out of date, then fill the pages; 0 if all of it was taken."""
    now = current()
    if now is None or now[0].endswith(CHANGES):
        print("Figures name the commit that they were taken at: commit src/ first, in a Git checkout.")
        return 2
    asked = [figure for figure in chosen if not why_not(figure, again)]
    missed, began = [], time.monotonic()
    for number, figure in enumerate(asked, 1):
        print(f"== {number} of {len(asked)}: {figure.name}", flush=True)
        missed += [] if take(figure, now[0], processes, again) else [figure.name]
        if current() != now:
            print("src/ has changed meanwhile; the same command goes on with what is there now")
            return 1
    if asked:
        run("python docs/fill.py")
    for figure in chosen:
        if figure not in asked:
            print(f"left: {figure.name}: {why_not(figure, again)}")
    print(f"{len(asked) - len(missed)} records in {(time.monotonic() - began) / 60:.0f} minutes")
    if missed:
        print(f"not taken: {', '.join(missed)}; what they printed says why, and the same command goes on")
    return int(bool(missed))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = figures()
    parser.add_argument("names", nargs="*", metavar="NAME", help="records; default all")
    parser.add_argument("--list", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--all", action="store_true", help="also those whose src/ has not changed")
    parser.add_argument("--processes", type=int, default=cores())
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no record {', '.join(unknown)}; use some of {', '.join(known)}")
    chosen = [known[name] for name in options.names] or list(known.values())
    if options.list:
        print("\n".join(listing(figure, options.processes, options.all) for figure in chosen))
        return 0
    return renew(chosen, options.processes, options.all)


if __name__ == "__main__":
    sys.exit(main())
