"""The text of the pages about the suites: tables, failures, gallery, and the summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmark_pages import OWN_GROUPS, Row, fastest, operon_counts, own_counts, own_group, symbolic_groups
from deep_page import solved_of
from experiment_pages import Experiments, file_name
from experiment_pages import counts as counts_of
from figures import Head, head_of, taken, taken_list
from languages_page import language_counts
from network_page import GROUPS as NETWORK_GROUPS
from network_page import network_counts
from page_text import RENEW, SOLVED, SOLVED_MEANS, code, page, table, unmeasured, yes
from random_page import kept_line, random_line
from reliability_page import CHECKED
from suite_results import Suite, TaskResult
from tables_page import table_counts
from weights2code import tasks
from weights2code.experiments import paper_numbers
from weights2code.experiments.limits import LIMITS, Failure, failure, formula, nearest
from weights2code.experiments.registry import NAMES

DATA = Path(__file__).parent / "data"
TITLES = {"mips": "MIPS", "paper": "the paper's 29 tasks"}


# -- suites -------------------------------------------------------------------------------------------------


def measured_by(suite: Suite) -> str:
    origins = Counter(run["origin"] for task in suite.tasks for run in task.runs if run["solved"])
    note = " Programs by origin: " + ", ".join(f"{n} {origin}" for origin, n in origins.items()) + "."
    if suite.caveats:
        note += (
            f" In {suite.caveats} of the solved runs the certificate notes that the discrete model itself "
            "does not fit and that the rule was regressed from the values that it reads "
            "([what that means](../extraction.md))."
        )
    return (
        f"A run is {SOLVED} if its program equals the reference. Seconds are the median over the seeds, "
        f"training included.{note}\n\n{taken(suite.summary)}"
    )


def counts(suite: Suite) -> str:
    solved, proved = suite.count("solved"), suite.count("proved")
    number, seeds = len(suite.tasks), ", ".join(map(str, suite.seeds))
    return (
        f"Of {number} tasks, with the seeds {seeds}: {solved[0]} solved by every seed and {solved[1]} by at "
        f"least one; {proved[0]} proved by every seed and {proved[1]} by at least one."
    )


def mips_facts() -> Row:
    """What others reached on the suite."""
    return json.loads((DATA / "mips.json").read_text(encoding="utf-8"))


def mips_solved() -> set[str]:
    """The tasks that MIPS solved, by our names."""
    return {tasks.get(name).name for name in mips_facts()["solved"]}


def mips(suite: Suite, baselines: Row | None = None, unsolved: Suite | None = None) -> str:
    """The table of the suite.

    `baselines` is the record of symbolic regression without a network, `unsolved` the runs with more seeds
    of the tasks that the paper leaves open, if there are any.
    """
    title = "The 62 tasks of MIPS"
    if not suite.measured:
        return page(title, unmeasured(RENEW.format("mips")))
    theirs = mips_solved()
    ways = solved_by_way(baselines, {t.name for t in suite.tasks})
    rows = [
        (f"`{t.name}`", f"{t.solved}/{len(t.runs)}", t.verdict, f"{t.seconds:.1f}",
         code(t.shown["formula"]) if t.shown else "-", yes(t.name in theirs),
         *(yes(t.name in solved) for solved in ways.values()))
        for t in suite.tasks
    ]  # fmt: skip
    beside = [f"MIPS solved {sum(t.name in theirs for t in suite.tasks)} of them"]
    beside += [f"{way} {len(solved)}" for way, solved in ways.items()]
    return page(
        title,
        counts(suite) + f" {', '.join(beside)}. [What limits the failures](failures.md).",
        table(("task", "seeds solved", "verdict", "seconds", "program", "MIPS", *ways), rows),
        measured_by(suite),
        "MIPS: solved by Michaud et al., *Opening the AI black box: program synthesis via mechanistic "
        f"interpretability*, 2024 (from RNNs; `docs/data/mips.json`). GPT-4 solved "
        f"{mips_facts()['gpt4_solved']} of the 62; which ones is not among the facts that we have."
        + (
            " The other columns are [symbolic regression without a network](experiment_baselines.md)."
            if ways
            else ""
        ),
        left_open(unsolved) if unsolved and unsolved.measured else "",
    )


def left_open(suite: Suite) -> str:
    """More seeds of the tasks that the paper leaves open."""
    rows = [
        (f"`{t.name}`", f"{t.solved}/{len(t.runs)}", f"{t.proved}/{len(t.runs)}", f"{t.seconds:.1f}",
         paper_numbers.by_task("table1")[t.name]["accuracy"])
        for t in suite.tasks
    ]  # fmt: skip
    head = ("task", "solved", "proved", "seconds", "paper: accuracy")
    return f"## What the paper leaves open\n\n{table(head, rows)}\n\n{measured_by(suite)}"


def solved_by_way(record: Row | None, names: set[str]) -> dict[str, set[str]]:
    """The tasks that each way of regression without a network solves; nothing if it was not run on all."""
    ways: dict[str, set[str]] = {}
    met: dict[str, set[str]] = {}
    for row in record["rows"] if record else ():
        if "lags" in row.get("way", ""):
            met.setdefault(row["way"], set()).add(row["task"])
            ways.setdefault(row["way"], set()).update({row["task"]} if row.get("solved") else ())
    return {way: solved for way, solved in ways.items() if met[way] >= names}


def failures(suites: dict[str, Suite], own: Row | None, fixed: Row | None = None) -> str:
    rows: list[tuple[str, ...]] = []
    for suite in suites.values():
        for task in suite.tasks:
            rows += _task_failures(suite.name, task)
    for case in own["rows"] if own else ():
        if not case["solved"]:
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
        taken_list([*heads(suites), ("own data", own)]),
        fixed_length(fixed) if fixed else "",
    )


def heads(suites: Mapping[str, Suite]) -> list[tuple[str, Head]]:
    """The suites that were measured, by the names that pages use, with the heads of their records."""
    return [(TITLES[name], suite.summary) for name, suite in suites.items() if suite.measured]


def fixed_length(record: Row) -> str:
    """What is possible at one length only, labelled as such."""
    shown = [
        (row["length"], yes(row["exact"]), f"{row['seconds']:.1f}", code("; ".join(row["formula"])))
        for row in record["rows"]
    ]
    return (
        "## Bit_Palindrome at a fixed length\n\nThe task has no program for every length here. At one fixed "
        "length, with the whole word given at once as columns, these were found; each holds for words of "
        "that length and for no other, and *exact* means right on every word of it.\n\n"
        + table(("length", "exact", "seconds", "program"), shown)
        + f"\n\n{taken(record)}"
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


def gallery_runs(suites: Iterable[Suite]) -> dict[str, Row]:
    """The run that stands for each solved task; the first suite that has it wins."""
    shown = {task.name: task.shown for suite in reversed(list(suites)) for task in suite.tasks if task.shown}
    return {task.name: shown[task.name] for task in tasks.all_tasks("all") if task.name in shown}


def _invariant(claims: tuple[str, ...]) -> str:
    """An invariant is long, so it is folded away, one claim a line."""
    lines = "\n".join(claims)
    return f"<details><summary>invariant</summary>\n\n```\n{lines}\n```\n\n</details>"


def gallery(runs: Mapping[str, Row], taken_at: str = "") -> str:
    if not runs:
        return page("Gallery", unmeasured(RENEW.format("mips")))
    parts = []
    for name, run in runs.items():
        described = tasks.get(name).description
        lines = [f"## {name}", f"{described[0].upper()}{described[1:]}.", f"```\n{run['formula']}\n```"]
        explanation = run.get("explanation", run["method"])
        lines.append(f"**{run['verdict']}** (seed {run['seed']}, {run['seconds']:.1f} s). {explanation}")
        lines += [f"Note: {note}." for note in run.get("notes", ())]
        lines += [_invariant(tuple(run["invariant"]))] if run.get("invariant") else []
        if run.get("source"):
            listing = f"```python\n{run['source'].rstrip()}\n```"
            lines.append(f"<details><summary>{name}.py</summary>\n\n{listing}\n\n</details>")
        parts.append("\n\n".join(lines))
    return page(
        "Gallery",
        f"The programs of {len(runs)} solved tasks, as they came out; nothing was edited by hand. "
        "`[c]` is 1 where `c` holds and 0 elsewhere; values before the start are 0 unless a formula says "
        "otherwise. The texts also lie in `docs/gallery/`, one file each.",
        taken_at,
        *parts,
    )


# -- summary ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """All that the benchmarks left; what was not measured yet is None or empty."""

    suites: dict[str, Suite]
    own: Row | None
    operon: Row | None
    random: Row | None
    symbolic: Row | None
    speed: tuple[Row | None, ...]
    own_first: Row | None = None
    reliability: Mapping[str, Row] = field(default_factory=dict)
    network: Row | None = None
    #: Random programs of a seed that was not looked at, and deeper ones.
    random_fresh: Row | None = None
    random_deep: Row | None = None
    #: Files with deep rules, and the same before deep networks were read.
    deep_files: Row | None = None
    deep_before: Row | None = None
    #: What was measured first: programs are unseen only once.
    random_first: Row | None = None
    #: Formal languages, and the rows that their machines need.
    languages: Row | None = None
    language_rows: Row | None = None
    #: Random programs with hidden memory, of a seed that was not looked at.
    random_hidden: Row | None = None
    #: Tables as people have them.
    tables: Row | None = None
    #: Files of many rows and columns, and one of a million steps.
    wide: Row | None = None
    long: Row | None = None
    #: Step functions of the seeds that are kept, as counts.
    kept: Row | None = None


def summary_table(found: Measured, repeated: Experiments, folder: str) -> str:
    """What was measured, a line each; also the block in the README."""
    rows = [_suite_line(suite, folder) for suite in found.suites.values()]
    if found.languages:
        rows.append((f"[formal languages]({folder}languages.md)", *language_counts(rows_of(found.languages))))
    if repeated.records:
        link = f"[the paper's experiments]({folder}compared_with_the_paper.md)"
        rows.append((link, f"rows of its tables: {counts_of(repeated.standing)}", "the paper's own numbers"))
    if protocol := repeated.records.get(("protocol", "paper")):
        rows.append(_protocol_line(protocol, folder))
    for group, _, word, _ in OWN_GROUPS:
        chosen = [row for row in rows_of(found.own) if own_group(row) == group]
        if chosen:
            solved, seconds = own_counts(chosen)
            link = f"[own data]({folder}own_data.md), {word} files"
            text = f"{solved} of {len(chosen)} solved; median {seconds:.0f} s"
            if group == "fresh" and (first := rows_of(found.own_first)):
                text += f"; at first sight {own_counts(first)[0]} of {len(first)}"
            rows.append((link, text, operon_counts(chosen, rows_of(found.operon)).rstrip(".")))
    if found.wide:
        largest = max(rows_of(found.wide), key=lambda row: row["rows"] * row["columns_used"])
        link = f"[large files]({folder}own_data.md#large-files)"
        text = (
            f"{largest['rows']:,} rows of {largest['columns_used']} columns in {largest['peak_gib']:.1f} GiB"
        )
        rows.append((link, text, f"the columns: {largest['columns_gib']:.1f} GiB"))
    if found.tables:
        link = f"[tables as people have them]({folder}tables.md)"
        rows.append((link, *table_counts(rows_of(found.tables))))
    for name, wanted in NETWORK_GROUPS if found.network else ():
        chosen = [row for row in rows_of(found.network) if wanted(row)]
        if chosen:
            link = f"[networks]({folder}network.md) of {name}"
            rows.append((link, network_counts(chosen), ""))
    if found.deep_files:
        link = f"[own data]({folder}deep_rules.md), rules of three and four steps"
        beside = f"before: {solved_of(rows_of(found.deep_before))}" if found.deep_before else ""
        rows.append((link, f"{solved_of(rows_of(found.deep_files))} solved", beside))
    if found.kept:
        link = f"[random step functions]({folder}random_programs.md#step-functions), seeds that nobody sees"
        rows.append((link, kept_line(found.kept), ""))
    for name, record in named_random(found):
        rows.append((f"[{name}]({folder}random_programs.md)", random_line(record), ""))
    if found.symbolic:
        groups = symbolic_groups(found.symbolic)
        clean = {engine: f"{held} of {of}" for group, engine, _, held, of, _ in groups if group == "clean"}
        link = f"[symbolic regression alone]({folder}symbolic_regression.md)"
        text = f"{clean.pop('native')} laws hold beyond the data"
        rows.append((link, text, "; ".join(f"{engine}: {count}" for engine, count in clean.items())))
    for run in found.speed:
        if run:
            link = f"[training speed]({folder}speed.md), {run['device']}"
            rows.append((link, f"up to {fastest(run):.0f} times the member-steps of a plain loop", ""))
    if found.reliability:
        cases = sum(attack["cases"] for attack in found.reliability.values())
        failed = sum(attack["failures"] for attack in found.reliability.values())
        link = f"[attacks on what it claims]({folder}reliability.md)"
        text = f"{failed} failures in {cases} cases"
        if len(found.reliability) < len(CHECKED):
            text += f"; {len(found.reliability)} of {len(CHECKED)} attacks measured"
        rows.append((link, text, ""))
    shown = table(("measured", "result", "beside it"), rows)
    means = f"{SOLVED_MEANS} [More](docs/results/index.md#what-solved-means).\n\n" if folder else ""
    return f"{shown}\n\n{means}{summary_sources(found, folder)}"


def _protocol_line(record: Row, folder: str) -> tuple[str, str, str]:
    """The whole protocol with the paper's recipe: how long it took, and how its losses stand."""
    trained = record.get("trained_by", [record])[-1]
    members = sum(len(row["members"]) for row in record["rows"])
    device = trained["machine"].get("accelerator", trained["machine"]["processor"])
    text = f"{members} full trainings in {trained['wall_seconds'] / 60:.0f} minutes on one {device}"
    text += f"; losses of its {len(record['rows'])} tasks: {counts_of(record['standing'])}"
    return f"[its whole protocol]({folder}experiment_protocol.md), its recipe", text, "the paper's losses"


def summary_sources(found: Measured, folder: str) -> str:
    """Where the numbers of the summary come from, a line a commit; experiments have many, and a page."""
    named = [*heads(found.suites)]
    named += [("own data", found.own), ("own data at first sight", found.own_first)]
    named += [("Operon on own data", found.operon), ("large files", found.wide)]
    named += [("tables as people have them", found.tables), ("networks", found.network)]
    if found.deep_files:
        named += [("deep rules in own data", found.deep_files), ("the same before", found.deep_before)]
    named += [("formal languages", found.languages), ("rows that they need", found.language_rows)]
    named += [("random step functions", found.kept)]
    named += [(name, head_of(record)) for name, record in named_random(found)]
    named += [("symbolic regression", found.symbolic), *(("training speed", run) for run in found.speed)]
    named += [("attacks", attack) for attack in found.reliability.values()]
    return (
        "When these were taken (`python docs/make_results.py --status` says it as of now; [the paper's "
        f"experiments]({folder}compared_with_the_paper.md#when-it-was-taken) have a list of their own):\n\n"
        f"{taken_list(named)}"
    )


def named_random(found: Measured) -> list[tuple[str, Row]]:
    """The records of random programs, by what they are called."""
    named = [
        ("random programs", found.random_fresh or found.random),
        ("random programs, deeper", found.random_deep),
        ("random programs with hidden memory", found.random_hidden),
    ]
    return [(name, record) for name, record in named if record]


def rows_of(record: Row | None) -> list[Row]:
    return record["rows"] if record else []


def _suite_line(suite: Suite, folder: str) -> tuple[str, str, str]:
    text = "not measured yet"
    if suite.measured:
        solved, proved = suite.count("solved"), suite.count("proved")
        runs = f"by each of {len(suite.seeds)} seeds" if len(suite.seeds) > 1 else "with one seed"
        text = f"{solved[0]} of {len(suite.tasks)} solved {runs}, {proved[0]} proved"
        text += f"; median {suite.seconds:.0f} s"
    if suite.name == "mips":
        return f"[the 62 tasks of MIPS]({folder}mips.md)", text, f"MIPS: {len(mips_solved())} of 62"
    accuracies = [row["accuracy"] for row in paper_numbers.read("table1") if row["accuracy"] != "n/a"]
    beside = f"the paper: accuracy 1.00 on {accuracies.count('1.00')} of {len(accuracies)} discrete tasks"
    return f"[the paper's 29 tasks]({folder}experiment_table1.md)", text, beside


def solved_means(judged: Mapping[str, Row]) -> str:
    """The one meaning of solved, and what it changed, by the notes of records that were judged anew."""
    notes = judged.values()
    programs, before, now = (sum(note[key] for note in notes) for key in ("programs", "before", "now"))
    kept = sum(len(note["kept"]) for note in notes)
    changed = [f"{label} (`{name}`)" for name, note in judged.items() for label in note["changed"]]
    return (
        f"## What solved means\n\n{SOLVED_MEANS} One function says so for all suites "
        "(`experiments/judging.py`). Records from before were judged by other lengths, numbers of sequences "
        f"and tolerances; the programs that they store were judged again: of {programs} {before} were called "
        f"solved, {now} are now. Changed: {', '.join(changed) or 'none'}. {kept} cannot be run from what is "
        "stored and keep the old judgement, and so does what stands beside us (Operon, RPNI, decision trees, "
        "formulas of lagged values), of which no programs are stored. Laws of the symbolic regression alone "
        "are rows, not sequences, and have a measure of their own."
    )


def index(found: Measured, repeated: Experiments, judged: Mapping[str, Row]) -> str:
    names = [
        "mips",
        "languages",
        "compared_with_the_paper",
        "paper_recipe",
        "training_step",
        *(file_name(name) for name in NAMES),
    ]
    names += ["failures", "random_programs", "own_data", "tables", "deep_rules", "network"]
    names += ["symbolic_regression", "speed", "reliability"]
    tree = "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```"
    return page(
        "Results",
        "Every number on these pages was written by `docs/make_results.py` from the JSON files that the "
        "benchmarks and `w2c experiment` leave under `benchmarks/`; a test compares them. Every page says at "
        "which commit its figures were taken and whether `src/` had changed since when the page was made; "
        "`python docs/make_results.py --status` says it as of now, and `python benchmarks/renew.py` takes "
        "again what is out of date.",
        summary_table(found, repeated, ""),
        solved_means(judged) if judged else "",
        tree,
    )
