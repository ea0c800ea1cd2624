"""Take again every figure that README and documentation show, as far as `src/` has changed since.

    python benchmarks/renew.py --list                     every record, its age, what taking it again costs
    python benchmarks/renew.py --processes 16             all that is out of date
    python benchmarks/renew.py mips own_data              some of it
    python benchmarks/renew.py --all                      also what is as of now

Records are taken one after another, and a record is replaced when its figures are complete. The same command
goes on where it was stopped: what is done names the `src/` that it was taken from and is passed over, and
what is under way goes on from the rows that are there, unless `src/` has changed since: then it begins anew,
so that no record mixes two versions. What this machine cannot do (no GPU, no Operon) is named and left. The
pages are made at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
import experiment_pages
from figures import ROOT, current, head_of, state, where
from reliability_page import CHECKED, is_whole
from weights2code.experiments.provenance import CHANGES
from weights2code.experiments.registry import NAMES

#: What is under way: a file a record, with the tree of `src/` that its rows come from.
UNDER_WAY = Path("w2c-runs/renew")


@dataclass(frozen=True, slots=True)
class Figure:
    """A record, and how it is taken again; paths are from the root, `{processes}` is filled in."""

    name: str
    record: str
    steps: tuple[str, ...]
    #: What a run that was stopped leaves, as patterns of paths; removed when the record is begun anew.
    work: tuple[str, ...] = ()
    #: What the steps leave elsewhere, as far as they leave it, and its place: the record and its tables.
    copied: tuple[tuple[str, str], ...] = ()
    needs: Literal["", "CUDA", "Operon"] = ""
    #: Why a record without steps is never taken again.
    kept: str = ""

    @property
    def parallel(self) -> bool:
        return any("{processes}" in step for step in self.steps)


# -- what there is ------------------------------------------------------------------------------------------

#: Options of experiments besides those of their way.
OPTIONS = {
    ("baselines", "fast"): " --suite mips --seeds 0",
    ("cost", "fast"): " --seeds 0",
    ("unmatched_heads", "fast"): " --seeds 0",
}
#: The experiments that are taken in other ways than the fast one.
WAYS = {
    "paper": (
        "protocol",
        "table1",
        "architectures",
        "unmatched_heads",
        "pruning",
        "dynamics",
        "arity",
        "l1",
        "annealing",
    ),
    "concat": ("robustness",),
}
#: The experiments that look at the models of the whole protocol.
OF_PROTOCOL = ("table1", "architectures", "unmatched_heads", "pruning", "dynamics")
EXPERIMENT_FILES = ("experiment.json", "table.csv", "table.md", "figure.svg", "figure.png")
#: The seed of random programs that are only measured, never looked at.
UNSEEN = 104
#: The same for deeper programs.
UNSEEN_DEEP = 103
#: The same for programs with hidden memory.
UNSEEN_HIDDEN = 204
OPEN_TASKS = "div_3 magnetic bit_addition balanced_parenthesis"


def experiment(name: str, way: str = "fast") -> Figure:
    folder = f"benchmarks/{experiment_pages.folder(name, way)}"
    out = runs_of(Path(folder).name)
    asked, needs = experiment_pages.WAYS[way], "Operon" if name == "baselines" else ""
    if way == "paper" and name in OF_PROTOCOL:
        asked = f" --recipe paper --models {runs_of(Path(experiment_pages.folder('protocol', way)).name)}"
    elif way == "paper":
        needs = "CUDA"
    command = f"w2c experiment {name}{asked}{OPTIONS.get((name, way), '')}"
    return Figure(
        Path(folder).name,
        f"{folder}/experiment.json",
        (f"{command} --jobs {{processes}} --out {out}",),
        (out,),
        tuple((f"{out}/{file}", f"{folder}/{file}") for file in EXPERIMENT_FILES),
        needs,
    )


def runs_of(name: str) -> str:
    """Where a sweep keeps its runs: it wants a folder of its own, and goes on in it."""
    return (UNDER_WAY / name).as_posix()


def bench(name: str, what: str) -> Figure:
    out, record = runs_of(name), f"benchmarks/suites/results/{name}.json"
    command = f"w2c bench {what} --jobs {{processes}} --out {out}"
    return Figure(name, record, (command,), (out,), ((f"{out}/bench.json", record),))


def languages(name: str, script: str, record: str) -> Figure:
    folder = "benchmarks/languages"
    return Figure(
        name,
        f"{folder}/results/{record}.json",
        (f"python {folder}/{script} --processes {{processes}}",),
        (f"{folder}/runs/{record}.jsonl",),
    )


#: What is varied about the paper's recipe, and on which tasks.
RECIPES = {
    "recipe": "--tasks abs_of_diff,add_mod_3,unique_prev2,bit_dot_prod_mod_2,quadratic_drop "
    "--variations 'plain;leak .1;leak .1, fading;leak .3, fading;fading, hidden 32;fading, uncooled noise;"
    "fading, noise .3;fading, rate .02;fading, rate .01;fading, no weight decay'",
    "recipe_rates": "--tasks quadratic_drop,abs_of_diff,bit_addition,add_mod_3,unique_prev2,linear_drop "
    "--variations 'rate .01;fading, rate .02, hidden 32;fading, rate .01, hidden 32;"
    "fading, rate .01, hidden 64;fading, rate .01, uncooled noise;fading, rate .005'",
    "recipe_drops": "--tasks linear_drop,quadratic_drop --variations 'fading, rate .01;fading, rate .002;"
    "fading, rate .005, noise .3;fading, rate .01, noise 2;fading, rate .005, no weight decay;"
    "fading, rate .005, hidden 32;fading, rate .005, hidden 64'",
}


def random_command(what: str, record: str) -> str:
    """Random programs with the limits that figures are compared at: a minute, two at a time."""
    folder = "benchmarks/random_programs"
    return f"python {folder}/run.py {what} --time-limit 60 --jobs 2 --out {folder}/results/{record}.json"


def attack(name: str) -> Figure:
    folder = "benchmarks/reliability"
    return Figure(
        name,
        f"{folder}/results/{name}.json",
        (f"python {folder}/run.py {name} --processes {{processes}}",),
        (f"{folder}/runs/{name}_0_*.jsonl",),
    )


def figures() -> list[Figure]:
    """Every record; what others are measured against comes first."""
    own, training, regression = (
        f"benchmarks/{folder}" for folder in ("own_data", "training", "symbolic_regression")
    )
    return [
        bench("mips", "--suite mips --seeds 0,1,2"),
        languages("languages", "run.py", "languages"),
        languages("language_rows", "rows.py", "rows"),
        *(experiment(name) for name in NAMES),
        *(experiment(name, way) for way, names in WAYS.items() for name in names),
        Figure(
            "links",
            "benchmarks/network/results/links.json",
            ("python benchmarks/network/links.py --processes {processes}",),
            ("benchmarks/network/runs/links.jsonl",),
        ),
        *(
            Figure(
                f"decompile_{part}",
                f"benchmarks/decompile/results/{part}.json",
                (
                    f"python benchmarks/decompile/make.py {part}",
                    f"python benchmarks/decompile/measure.py {part}",
                ),
            )
            for part in ("gallery", "damaged")
        ),
        Figure(
            "decompile_others",
            "benchmarks/decompile/results/others.json",
            (),
            kept="models of other people are not in the repository",
        ),
        Figure("own_data", f"{own}/results/own_data.json", (f"python {own}/run.py",)),
        Figure("operon", f"{own}/results/operon.json", (f"python {own}/baseline_operon.py",), needs="Operon"),
        Figure("fresh_first", f"{own}/results/fresh_first.json", (), kept="files are unseen only once"),
        Figure(
            "tables",
            "benchmarks/tables/results/tables.json",
            ("python benchmarks/tables/run.py --part all --time-limit 60 --processes 2",),
            ("benchmarks/tables/runs/tables.jsonl",),
        ),
        Figure("large", f"{own}/results/large.json", (f"python {own}/large.py",)),
        Figure(
            "wide",
            f"{own}/results/wide.json",
            (f"python {own}/wide.py",),
            (f"{own}/runs/wide.jsonl",),
        ),
        Figure(
            "random_programs",
            "benchmarks/random_programs/results/seed3.json",
            (
                "python benchmarks/random_programs/run.py --count 100 --seed 3 --time-limit 25 "
                "--jobs {processes} --out benchmarks/random_programs/results/seed3.json",
            ),
        ),
        Figure(
            "random_fresh",
            "benchmarks/random_programs/results/fresh.json",
            (random_command(f"--count 100 --seed {UNSEEN}", "fresh"),),
        ),
        Figure(
            "random_deep",
            "benchmarks/random_programs/results/fresh_deep.json",
            (random_command(f"--count 40 --seed {UNSEEN_DEEP} --sizes 4,5", "fresh_deep"),),
        ),
        Figure(
            "kept",
            "benchmarks/ledger/results/kept.json",
            ("python benchmarks/ledger/fresh.py --kept --processes {processes}",),
        ),
        Figure(
            "random_hidden",
            "benchmarks/random_programs/results/hidden.json",
            (random_command(f"--count 30 --seed {UNSEEN_HIDDEN} --memory hidden", "hidden"),),
        ),
        Figure(
            "random_first",
            "benchmarks/random_programs/results/fresh_first.json",
            (),
            kept="programs are unseen only once",
        ),
        Figure("deep", f"{own}/results/deep.json", (f"python {own}/deep.py --part all",)),
        Figure(
            "deep_before",
            f"{own}/results/deep_before.json",
            (),
            kept="says where the system stood before deep networks were read",
        ),
        bench("four", f"{OPEN_TASKS} --seeds 0-4"),
        Figure(
            "fixed_length",
            "benchmarks/suites/results/fixed_length.json",
            ("python benchmarks/suites/fixed_length.py",),
        ),
        Figure(
            "symbolic_regression",
            f"{regression}/results/results.json",
            (f"python {regression}/run.py --groups clean 'noisy told' trees --trees 44",),
            needs="Operon",
        ),
        Figure("speed_cpu", f"{training}/results/speed_cpu.json", (f"python {training}/speed.py",)),
        Figure(
            "speed_cuda",
            f"{training}/results/speed_cuda.json",
            (f"python {training}/speed.py --device cuda --members 1,16,64,256 --batch 512",),
            needs="CUDA",
        ),
        Figure(
            "fused_step",
            f"{training}/results/fused_step.json",
            (f"python {training}/fused_step.py",),
            needs="CUDA",
        ),
        Figure("noise", f"{training}/results/noise.json", (f"python {training}/noise.py",)),
        *(
            Figure(
                name,
                f"{training}/results/{name}.json",
                (f"python {training}/recipe.py {asked} --out {training}/results/{name}.json",),
                needs="CUDA",
            )
            for name, asked in RECIPES.items()
        ),
        Figure(
            "unread",
            f"{training}/results/unread.json",
            (f"python {training}/unread.py --models {runs_of('protocol_paper')}",),
        ),
        *(attack(name) for name in CHECKED),
        Figure(
            "picture",
            "docs/pictures/pipeline.json",
            (
                f"w2c run parity_last2 --out {runs_of('picture')}",
                f"python docs/make_picture.py {runs_of('picture')}",
            ),
            (runs_of("picture"),),
        ),
    ]


# -- what is to be done -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to a record, and why."""

    figure: Figure
    action: Literal["take", "go on", "leave"]
    why: str
    taken: str = ""
    minutes: float | None = None


def plans(
    chosen: Sequence[Figure],
    root: Path,
    *,
    again: bool = False,
    processes: int = 1,
    available: Callable[[str], bool] = lambda need: has(need),
) -> list[Plan]:
    """What is to be done with each record, in their order; `again` takes also what is as of now."""
    now = current(root)
    tree = now[0] if now else None
    return [_plan(figure, root, tree, again, processes, available) for figure in chosen]


def _plan(
    figure: Figure,
    root: Path,
    tree: str | None,
    again: bool,
    processes: int,
    available: Callable[[str], bool],
) -> Plan:
    record = read(root / figure.record)
    taken, minutes, since = "not measured yet", None, ""
    if record:
        head = head_of(record)
        taken, minutes = where(head), expected_minutes(figure, record, processes)
        found = state(head, root)
        since = found.text
        if "whole" in record and not is_whole(record):
            since = "was attacked with a share of the cases"
        elif found.kind == "same" and not again and not is_under_way(figure, root, tree):
            return Plan(figure, "leave", "as of now", taken, minutes)
    if figure.kept:
        return Plan(figure, "leave", f"kept: {figure.kept}", taken)
    if figure.needs and not available(figure.needs):
        return Plan(figure, "leave", f"needs {figure.needs}, which is not here", taken, minutes)
    if is_under_way(figure, root, tree):
        return Plan(figure, "go on", "under way", taken, minutes)
    return Plan(figure, "take", f"src/ {since}" if since else "not measured yet", taken, minutes)


def read(file: Path) -> dict[str, Any] | None:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def is_under_way(figure: Figure, root: Path, tree: str | None) -> bool:
    """Whether it was begun, and from the `src/` that is here."""
    file = mark(figure, root)
    return file.exists() and file.read_text(encoding="utf-8") == tree


def mark(figure: Figure, root: Path) -> Path:
    return root / UNDER_WAY / f"{figure.name}.src"


def expected_minutes(figure: Figure, record: dict[str, Any], processes: int) -> float | None:
    """From what the record took: the time of its runs shared among the processes, or all of it."""
    head = head_of(record)
    if figure.parallel:
        rows = [row.get("seconds") or 0.0 for row in record.get("rows", ()) if isinstance(row, dict)]
        seconds = head.get("run_seconds") or sum(rows)
        return seconds / processes / 60 if seconds else None
    seconds = head.get("wall_seconds", head.get("seconds"))
    trained = sum(part["wall_seconds"] for part in record.get("trained_by", ()))
    return (seconds + trained) / 60 if seconds else None


def has(need: str) -> bool:
    """Whether this machine has what some records need."""
    if need == "Operon":
        return find_spec("pyoperon") is not None
    import torch

    return torch.cuda.is_available()


def listing(found: Iterable[Plan], processes: int) -> str:
    """A line a record."""
    lines = []
    for plan in found:
        cost = "" if plan.minutes is None else f", about {plan.minutes:.1f} minutes"
        lines.append(f"{plan.figure.name:22s} {plan.action:6s} {plan.why}{cost}")
        lines.append(f"{'':22s} {plan.figure.record}, {plan.taken}")
        lines += [f"{'':22s} $ {step.format(processes=processes)}" for step in plan.figure.steps]
    return "\n".join(lines)


# -- doing it -----------------------------------------------------------------------------------------------


def take(plan: Plan, root: Path, tree: str, processes: int) -> bool:
    """Take one record; whether it is of this `src/` now, whatever the exit codes of its steps say.

    (They are not 0 where a task is not solved or an attack found something, which is a result.)
    """
    figure = plan.figure
    if plan.action == "take":
        for path in [path for pattern in figure.work for path in root.glob(pattern)]:
            remove(path)
        mark(figure, root).parent.mkdir(parents=True, exist_ok=True)
        mark(figure, root).write_text(tree, encoding="utf-8")
    for step in figure.steps:
        run(step.format(processes=processes), root)
    for made, place in figure.copied:
        if (root / made).exists():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / made, root / place)
    record = read(root / figure.record)
    done = record is not None and head_of(record).get("src") == tree
    if done:
        mark(figure, root).unlink()
    return done


def run(step: str, root: Path) -> int:
    """One command, on the source of this checkout whatever is installed."""
    first, *words = shlex.split(step)
    program = {"python": [sys.executable], "w2c": [sys.executable, "-m", "weights2code"]}[first]
    path = os.pathsep.join(filter(None, (str(root / "src"), os.environ.get("PYTHONPATH"))))
    print(f"$ {step}", flush=True)
    return subprocess.run([*program, *words], cwd=root, env={**os.environ, "PYTHONPATH": path}).returncode


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def renew(found: Sequence[Plan], root: Path, processes: int) -> int:
    """Take what the plans say, then make the pages; 0 if all of it was taken."""
    now = current(root)
    if now is None:
        print("Figures name the commit that they were taken at; here is no Git history to name one from.")
        return 2
    tree = now[0]
    if tree.endswith(CHANGES):
        print("src/ has changes that are not committed; commit them, so that the figures can name a commit.")
        return 2
    asked = [plan for plan in found if plan.action != "leave"]
    missed = []
    for number, plan in enumerate(asked, 1):
        print(f"== {number} of {len(asked)}: {plan.figure.name}", flush=True)
        try:
            done = take(plan, root, tree, processes)
        except KeyboardInterrupt:
            print(f"stopped at {plan.figure.name}; the same command goes on from here")
            return 130
        missed += [] if done else [plan.figure.name]
        if current(root) != now:
            print("src/ has changed meanwhile; the same command goes on with what is there now")
            return 1
    if asked:
        run("python docs/make_results.py", root)
    for plan in found:
        if plan.action == "leave":
            print(f"left: {plan.figure.name}: {plan.why}")
    if missed:
        print(f"not taken: {', '.join(missed)}; what they printed says why, and the same command goes on")
    return int(bool(missed))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = {figure.name: figure for figure in figures()}
    parser.add_argument("names", nargs="*", metavar="NAME", help="records; default all")
    parser.add_argument("--list", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--all", action="store_true", help="also those whose src/ has not changed")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no record {', '.join(unknown)}; use some of {', '.join(known)}")
    chosen = [known[name] for name in options.names] or list(known.values())
    found = plans(chosen, ROOT, again=options.all, processes=options.processes)
    if options.list:
        print(listing(found, options.processes))
        return 0
    return renew(found, ROOT, options.processes)


if __name__ == "__main__":
    sys.exit(main())
