"""The text of each page of results, in Markdown, from what was measured."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from suite_results import LIMITS, Failure, Suite, TaskResult, failure, formula, nearest
from weights2code import tasks

DATA = Path(__file__).parent / "data"
MADE = "<!-- made by docs/make_results.py: do not edit -->"
SWEEP = "python benchmarks/suites/sweep.py --suite {0} --seeds 0,1,2 --out benchmarks/suites/results/{0}.json"
OWN = "python benchmarks/own_data/run.py"


def page(title: str, *parts: str) -> str:
    return "\n\n".join((MADE, f"# {title}", *(part for part in parts if part))) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def code(text: str | None) -> str:
    """Formulas in a table cell, one line each."""
    return "<br>".join(f"`{line}`" for line in (text or "").splitlines()) or "-"


def unmeasured(command: str) -> str:
    return f"Not measured yet. The command is:\n\n```\n{command}\n```"


def yes(condition: bool) -> str:
    return "yes" if condition else "no"


# -- suites -------------------------------------------------------------------------------------------------


def measured_by(suite: Suite) -> str:
    machine = suite.summary["machine"]
    origins = Counter(run["origin"] for task in suite.tasks for run in task.runs if run["solved"])
    note = " Programs by origin: " + ", ".join(f"{n} {origin}" for origin, n in origins.items()) + "."
    if suite.caveats:
        note += (
            f" In {suite.caveats} of the solved runs the certificate notes that the discrete model itself "
            "does not fit and that the rule was regressed from the values that it reads "
            "([what that means](../extraction.md))."
        )
    return (
        f"Measured by `{suite.summary['command']}` on {machine['processor']} with {machine['cores']} cores, "
        f"Python {machine['python']}, in {suite.summary['seconds'] / 60:.1f} minutes. A run is solved if it "
        "ends with exit code 0 and the program, run free, equals the reference on fresh sequences at the "
        "task's own length and at length 40. Seconds are the median over the seeds, training included." + note
    )


def counts(suite: Suite) -> str:
    solved, proved = suite.count("solved"), suite.count("proved")
    number, seeds = len(suite.tasks), ", ".join(map(str, suite.seeds))
    return (
        f"Of {number} tasks, with the seeds {seeds}: {solved[0]} solved by every seed and {solved[1]} by at "
        f"least one; {proved[0]} proved by every seed and {proved[1]} by at least one."
    )


def mips_solved() -> set[str]:
    """The tasks that MIPS solved, by our names."""
    data = json.loads((DATA / "mips.json").read_text(encoding="utf-8"))
    return {tasks.get(name).name for name in data["solved"]}


def mips(suite: Suite) -> str:
    title = "The 62 tasks of MIPS"
    if not suite.measured:
        return page(title, unmeasured(SWEEP.format("mips")))
    theirs = mips_solved()
    rows = [
        (f"`{t.name}`", f"{t.solved}/{len(t.runs)}", t.verdict, f"{t.seconds:.1f}",
         code(t.shown["formula"]) if t.shown else "-", yes(t.name in theirs))
        for t in suite.tasks
    ]  # fmt: skip
    beside = sum(t.name in theirs for t in suite.tasks)
    return page(
        title,
        counts(suite) + f" MIPS solved {beside} of them. [What limits the failures](failures.md).",
        table(("task", "seeds solved", "verdict", "seconds", "program", "MIPS"), rows),
        measured_by(suite),
        "MIPS: solved by Michaud et al., *Opening the AI black box: program synthesis via mechanistic "
        "interpretability*, 2024 (from RNNs; `docs/data/mips.json`).",
    )


def paper(suite: Suite) -> str:
    title = "The paper's 29 tasks"
    if not suite.measured:
        return page(title, unmeasured(SWEEP.format("paper")))
    with open(DATA / "paper_table1.csv", newline="", encoding="utf-8") as file:
        reported = {row["task"]: row for row in csv.DictReader(file)}
    rows = [
        (f"`{t.name}`", f"{t.solved}/{len(t.runs)}", t.verdict, f"{t.seconds:.1f}",
         code(t.shown["formula"]) if t.shown else "-",
         reported[t.name]["accuracy"], reported[t.name]["rmse"])
        for t in suite.tasks
    ]  # fmt: skip
    head = ("task", "seeds solved", "verdict", "seconds", "program", "paper: accuracy", "paper: RMSE")
    return page(
        title,
        counts(suite),
        table(head, rows),
        measured_by(suite),
        "The last two columns are the paper's own numbers (its Table 1, `docs/data/paper_table1.csv`). The "
        "paper does not define its five continuous tasks; ours fit its sizes and errors.",
    )


def failures(suites: dict[str, Suite], own: list[dict[str, Any]] | None) -> str:
    rows: list[tuple[str, ...]] = []
    for suite in suites.values():
        for task in suite.tasks:
            rows += _task_failures(suite.name, task)
    for case in own or ():
        if not case["exact"]:
            found = nearest(case["attempts"])
            if case["verdict"] == "tested":
                found = Failure("test", f"passes on the held-out part, but is not the rule: {formula(case)}")
            rows.append(("own data", f"`{case['name']}`", "", found.limit, found.evidence))
    meaning = table(("limit", "meaning"), LIMITS.items())
    missing = [name for name, suite in suites.items() if not suite.measured]
    return page(
        "What limits the failures",
        "Every run that was not solved, or solved but not proved. The limit is read off the attempt that "
        "came nearest, the one with the lowest hard loss (the squared error of the discrete model as a share "
        "of the variance).",
        meaning,
        table(("suite", "task", "seeds", "limit", "evidence"), rows) if rows else "There are none.",
        f"Not measured yet: {', '.join(missing)}." if missing else "",
    )


def _task_failures(suite: str, task: TaskResult) -> list[tuple[str, ...]]:
    """One row for each limit of a task, with the seeds that met it."""
    met: dict[str, tuple[list[str], str]] = {}
    for run in task.runs:
        found = failure(run)
        if found:
            met.setdefault(found.limit, ([], found.evidence))[0].append(str(run["seed"]))
    return [
        (suite, f"`{task.name}`", ", ".join(seeds), limit, evidence)
        for limit, (seeds, evidence) in met.items()
    ]


# -- gallery ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One program of the gallery."""

    name: str
    description: str
    formula: str
    verdict: str
    explanation: str
    notes: tuple[str, ...]
    seed: int
    seconds: float
    source: str


def gallery_entries(suites: Iterable[Suite]) -> list[Entry]:
    """One entry for each solved task; the first suite that has it wins."""
    found: dict[str, Entry] = {}
    for task in (task for suite in suites for task in suite.tasks):
        run = task.shown
        if run is None or task.name in found:
            continue
        found[task.name] = Entry(
            task.name, tasks.get(task.name).description, run["formula"], run["verdict"],
            run.get("explanation", run["method"]), tuple(run.get("notes", ())), run["seed"], run["seconds"],
            run.get("source", ""),
        )  # fmt: skip
    order = [task.name for task in tasks.all_tasks("all")]
    return sorted(found.values(), key=lambda entry: order.index(entry.name))


def _listing(entry: Entry) -> str:
    return f"```python\n{entry.source.rstrip()}\n```"


def gallery(entries: list[Entry]) -> str:
    if not entries:
        return page("Gallery", unmeasured(SWEEP.format("mips")))
    parts = []
    for entry in entries:
        described = entry.description[0].upper() + entry.description[1:]
        lines = [f"## {entry.name}", f"{described}.", f"```\n{entry.formula}\n```"]
        lines.append(f"**{entry.verdict}** (seed {entry.seed}, {entry.seconds:.1f} s). {entry.explanation}")
        lines += [f"Note: {note}." for note in entry.notes]
        if entry.source:
            lines.append(f"<details><summary>{entry.name}.py</summary>\n\n{_listing(entry)}\n\n</details>")
        parts.append("\n\n".join(lines))
    return page(
        "Gallery",
        f"The programs of {len(entries)} solved tasks, as they came out; nothing was edited by hand. "
        "`[c]` is 1 where `c` holds and 0 elsewhere; values before the start are 0 unless a formula says "
        "otherwise. The texts also lie in `docs/gallery/`, one file each.",
        *parts,
    )


# -- other benchmarks ---------------------------------------------------------------------------------------


def own_data(rows: list[dict[str, Any]] | None) -> str:
    if not rows:
        return page("Own data", unmeasured(OWN))
    parts = []
    for title, hard in (("Simple files", False), ("Harder files", True)):
        chosen = [row for row in rows if row["hard"] == hard]
        cells = [
            (row["name"], row["field"], yes(row["exact"]), row["verdict"], f"{row['seconds']:.1f}",
             code(row["formula"]))
            for row in chosen
        ]  # fmt: skip
        exact, seconds = _own_counts(chosen)
        parts += [
            f"## {title}",
            f"{exact} of {len(chosen)} exact, median {seconds:.1f} s.",
            table(("file", "field", "exact", "verdict", "seconds", "program"), cells),
        ]
    return page(
        "Own data",
        "CSV files of our own invention from different fields, none of them a built-in task. *Exact*: the "
        "program equals the machine behind the file, free-running on fresh inputs at four times the training "
        f"length. The fit sees the file and nothing else. Measured by `{OWN}`; seconds are wall time on a "
        "machine that was shared with other work.",
        *parts,
    )


def _own_counts(rows: list[dict[str, Any]]) -> tuple[int, float]:
    return sum(row["exact"] for row in rows), median(row["seconds"] for row in rows)


def symbolic_groups(data: dict[str, Any]) -> list[tuple[str, str, int, int, int, float]]:
    """(group, engine, found, held, of, median seconds), in the order of the file."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for outcome in data["outcomes"]:
        groups.setdefault((outcome["group"], outcome["engine"]), []).append(outcome)
    return [
        (group, engine, sum(o["success"] for o in found), sum(o["law"] for o in found), len(found),
         median(o["seconds"] for o in found))
        for (group, engine), found in groups.items()
    ]  # fmt: skip


def symbolic_regression(data: dict[str, Any] | None) -> str:
    title = "Symbolic regression by itself"
    if not data:
        return page(title, unmeasured("python benchmarks/symbolic_regression/run.py"))
    rows = [
        (group, engine, f"{found}/{of}", f"{held}/{of}", f"{seconds:.2f}")
        for group, engine, found, held, of, seconds in sorted(symbolic_groups(data), key=lambda row: row[:2])
    ]
    kinds = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return page(
        title,
        "Functions with a known formula: how often each engine finds one that is right on the data, and one "
        "that still holds on a domain twice as wide. *noisy told*: with noise whose size is told; *trees*: "
        "random formulas.",
        table(("group", "engine", "right", "holds beyond", "median seconds"), rows),
        f"Measured by `{data['command']}` ({kinds}).",
    )


def speed(runs: list[dict[str, Any] | None]) -> str:
    measured = [run for run in runs if run]
    if not measured:
        return page("Training speed", unmeasured("python benchmarks/training/speed.py"))
    parts = []
    for run in measured:
        parts.append(f"## {run['device']}")
        for comparison in run["comparisons"]:
            case = comparison["case"]
            rows = [
                (r["run"], f"{r['ms_per_step']:.2f}", f"{r['member_steps_per_second']:.0f}",
                 f"{r['times_plain']:.1f}")
                for r in comparison["rows"]
            ]  # fmt: skip
            parts += [
                f"{comparison['label'].capitalize()}, batch {case['batch']}, length {case['length']}:",
                table(("run", "ms a step", "member-steps a second", "times plain"), rows),
            ]
        parts.append(f"Measured by `{run['command']}` with PyTorch {run['torch']}.")
    return page(
        "Training speed",
        "Many restarts train as one batched program. *Plain* is one model written as a textbook would, with "
        "the same outputs and gradients; *batched N* trains N members in one step, *times plain* compares "
        "member-steps a second.",
        *parts,
    )


def fastest(run: dict[str, Any]) -> float:
    """Member-steps a second against the plain loop, the best over all comparisons."""
    return max(row["times_plain"] for comparison in run["comparisons"] for row in comparison["rows"])


# -- summary ------------------------------------------------------------------------------------------------


def summary_table(
    suites: dict[str, Suite],
    own: list[dict[str, Any]] | None,
    symbolic: dict[str, Any] | None,
    speeds: list[dict[str, Any] | None],
    folder: str,
) -> str:
    """What was measured, a line each; also the block in the README."""
    rows: list[tuple[str, str, str]] = []
    exact, discrete = _paper_exact()
    beside = {"mips": f"MIPS: {len(mips_solved())} of 62"}
    beside["paper"] = f"the paper: accuracy 1.00 on {exact} of {discrete} discrete tasks"
    for name, suite in suites.items():
        text = "not measured yet"
        if suite.measured:
            solved, proved = suite.count("solved"), suite.count("proved")
            runs = f"by each of {len(suite.seeds)} seeds" if len(suite.seeds) > 1 else "with one seed"
            text = (
                f"{solved[0]} of {len(suite.tasks)} solved {runs}, {proved[0]} proved; "
                f"median {suite.seconds:.0f} s"
            )
        title = {"mips": "the 62 tasks of MIPS", "paper": "the paper's 29 tasks"}[name]
        rows.append((f"[{title}]({folder}{name}.md)", text, beside[name]))
    if own:
        parts = []
        for word, hard in (("simple", False), ("harder", True)):
            chosen = [row for row in own if row["hard"] == hard]
            exact, seconds = _own_counts(chosen)
            parts.append(f"{exact} of {len(chosen)} {word} files exact, median {seconds:.0f} s")
        rows.append((f"[own data]({folder}own_data.md)", "; ".join(parts), ""))
    if symbolic:
        clean = {engine: (held, of) for group, engine, _, held, of, _ in symbolic_groups(symbolic)
                 if group == "clean"}  # fmt: skip
        held, of = clean.pop("native")
        others = "; ".join(f"{engine}: {n} of {m}" for engine, (n, m) in clean.items())
        link = f"[symbolic regression alone]({folder}symbolic_regression.md)"
        rows.append((link, f"{held} of {of} laws hold beyond the data", others))
    for run in speeds:
        if run:
            link = f"[training speed]({folder}speed.md), {run['device']}"
            rows.append((link, f"up to {fastest(run):.0f} times the member-steps of a plain loop", ""))
    return table(("measured", "result", "beside it"), rows)


def _paper_exact() -> tuple[int, int]:
    """The paper's discrete tasks with accuracy 1.00, and all of them."""
    with open(DATA / "paper_table1.csv", newline="", encoding="utf-8") as file:
        accuracies = [row["accuracy"] for row in csv.DictReader(file) if row["accuracy"] != "n/a"]
    return accuracies.count("1.00"), len(accuracies)


def index(
    suites: dict[str, Suite],
    own: list[dict[str, Any]] | None,
    symbolic: dict[str, Any] | None,
    speeds: list[dict[str, Any] | None],
) -> str:
    names = ("mips", "paper", "failures", "own_data", "symbolic_regression", "speed")
    tree = "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```"
    return page(
        "Results",
        "Every number on these pages was written by `docs/make_results.py` from the JSON files that the "
        "benchmarks leave under `benchmarks/*/results/`; a test compares them.",
        summary_table(suites, own, symbolic, speeds, ""),
        tree,
    )
