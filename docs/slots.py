"""What the slots of pages hold: tables and counts, each made from the record of a benchmark.

Records are named as `benchmarks/renew.py` names them. A slot is a function of the words that a page gives it;
most are tables declared column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import figures
from experiment_slots import (
    NAMES,
    behind,
    compared,
    experiment,
    experiment_sources,
    place_of,
    protocol,
    times,
    ways_of,
)
from measured import (
    FIGURES,
    Columns,
    NotMeasured,
    Row,
    Rows,
    counted,
    known,
    networks,
    program,
    proved,
    record,
    renew,
    rows,
    shown,
)
from summary_slots import mips_solved, sources, summary
from weights2code import tasks
from weights2code.experiments import paper_numbers
from weights2code.experiments.cases import ANNEALED, WAYS
from weights2code.experiments.limits import LIMITS, failure
from weights2code.experiments.tables import Cell, grouped, listed, markdown, middle, part


def made(name: str, words: Sequence[str]) -> str:
    """What a slot holds."""
    if text := kept_pages().get(" ".join((name, *words))):
        return text
    try:
        return SLOTS[name](*words)
    except NotMeasured as missing:
        return f"Not measured yet. The command is: `python benchmarks/renew.py {missing}`"


@cache
def kept_pages() -> dict[str, str]:
    """What records hold of the pages that were made of them, whose question is answered."""
    found = known(*(name for name, figure in FIGURES.items() if figure.kept))
    return {slot: text for one in found.values() for slot, text in one.head.get("pages", {}).items()}


def taken(name: str, what: str = "Taken") -> str:
    return figures.taken(record(name).head, what=what)


def suite(name: str) -> str:
    """A line a task: seeds solved, verdicts, seconds, program; what MIPS and regression alone solve."""
    others = {"MIPS": mips_solved()} if name == "mips" else {}
    if name == "mips" and known("baselines"):
        for (way,), found in grouped(rows("baselines"), "way").items():
            if "lags" in way:
                others[way] = {row["task"] for row in found if row.get("solved")}
    beside: dict[str, Cell] = {
        way: lambda found, solved=solved: found[0]["task"] in solved for way, solved in others.items()
    }
    theirs = paper_numbers.by_task("table1")
    if name == "four":
        beside["paper: accuracy"] = lambda found: theirs[found[0]["task"]]["accuracy"]
    columns = {"task": "task", "solved": part("solved"), "proved": part(proved), "seconds": middle("seconds")}
    return listed(rows(name), columns | {"program": program} | beside, by=("task",))


def own_files(name: str, group: str = "") -> str:
    """Files of our own invention, and what Operon on lagged variables gives beside us."""
    theirs = {row["name"]: row for found in known("operon").values() for row in found.rows}
    columns: Columns = {"file": "name", "field": "field", "solved": "solved", "verdict": "verdict"}
    columns |= {"network": networks, "seconds": "seconds", "program": program}
    for lags in (3, 8) if theirs else ():
        cell = lambda found, lags=lags: theirs.get(found[0]["name"], {}).get(f"lags_{lags}")  # noqa: E731
        columns[f"Operon, lags to {lags}"] = cell
    return listed([row for row in rows(name) if group in ("", row.get("group"))], columns)


def failures() -> str:
    """Every run that was not solved, or solved but not proved; a line for each limit of a task."""
    met: dict[tuple[str, str, str], tuple[list[str], str]] = {}
    for name, title in {"mips": "MIPS", "table1": "the paper", "own_data": "own data"}.items():
        for row in known(name)[name].rows if known(name) else ():
            if row.get("status", "done") != "done" or (name == "own_data" and row["solved"]):
                continue  # on own data nothing can be proved
            if found := failure(row):
                key = (title, row.get("task") or row["name"], found.limit)
                met.setdefault(key, ([], found.evidence))[0].append(str(row.get("seed", "")))
    lines = [(*key[:2], ", ".join(seeds), key[2], why) for key, (seeds, why) in met.items()]
    return markdown(("suite", "task", "seeds", "limit", "evidence"), lines) if lines else "There are none."


def limits() -> str:
    return markdown(("limit", "meaning"), LIMITS.items())


def origins() -> str:
    """Where the rules of the ledger's runs came from, group by group."""

    def total(name: str) -> Cell:
        return lambda found: sum(row[name] for row in found)

    counts = {name: total(name) for name in ("runs", "solved", ANNEALED, *WAYS)}
    return listed(rows("origins"), {"suite": "group", **counts}, by=("group",), total="all")


def decompiled(part: str) -> str:
    """Models that were decompiled: the rule, the departure, what it took; beside AALpy."""

    def of(way: str) -> Cell:
        def cell(found: Rows) -> str:
            said = found[0].get(way) or {}
            return f"{said['queries']}, {said['seconds']}, {said['states'] or 'none'}" if said else ""

        return cell

    def departs(found: Rows) -> str:
        row = found[0]
        where = (
            "" if row.get("departs") is None else f"{row['departs']}{' (proven)' if row['proven'] else ''}"
        )
        return where + (f", known {row['known']}" if row.get("known") else "")

    rule = lambda f: "meant" if f[0]["right"] else "none" if f[0]["formula"] is None else "another"  # noqa: E731
    columns: Columns = {"model": "name", "rule": rule, "departs after": departs}
    columns |= {"questions for the rule": "rule_queries", "its seconds": "rule_seconds", "in all": "seconds"}
    found = rows(f"decompile_{part}")
    if any("L*" in row for row in found):
        columns |= {"AALpy L\\*: questions, seconds, states": of("L*"), "KV": of("KV")}
    right = sum(row["right"] for row in found)
    return f"{listed(found, columns)}\n\nThe meant rule came out of {right} of {len(found)} models."


# -- attacks ------------------------------------------------------------------------------------------------


def attacks() -> str:
    """A line an attack."""
    lines = []
    for name in renew.ATTACKS:
        head = known(name)[name].head if known(name) else {}
        whole = f" of {head['whole']}" if head and head["cases"] < head.get("whole", 0) else ""
        slowest = f"{head['slowest']:.1f} s" if head else "-"
        lines.append(
            (f"[{name}](#{name})", f"{head.get('cases', '-')}{whole}", head.get("failures", "-"), slowest)
        )
    return markdown(("attack", "cases", "failures", "slowest case"), lines)


def attack(name: str) -> str:
    """An attack by its kinds of cases, then what failed."""
    head = record(name).head
    lines = [
        (
            kind["kind"] or "(no answer)",
            kind["cases"],
            ", ".join(f"{word or 'as it should'}: {n}" for word, n in kind["outcomes"].items()),
            kind["failures"],
        )
        for kind in record(name).rows
    ]
    parts = [markdown(("kind", "cases", "outcomes", "failures"), lines)]
    for row in head["failed"]:
        last = row["failure"].strip().splitlines()[-4:]
        parts.append(
            "\n".join(["````text", f"{row['number']}: {row['kind'] or '(no answer)'}", *last, "````"])
        )
    return "\n\n".join([*parts, figures.taken(head)])


# -- gallery ------------------------------------------------------------------------------------------------


@cache
def gallery_runs() -> dict[str, Row]:
    """The run that stands for each solved task."""
    runs = [row for name in ("table1", "mips") for found in known(name).values() for row in found.rows]
    found = {task: shown(own) for (task,), own in grouped(list(reversed(runs)), "task").items()}
    return {task.name: found[task.name] for task in tasks.all_tasks("all") if found.get(task.name)}


def gallery() -> str:
    parts = []
    for name, run in gallery_runs().items():
        described = tasks.get(name).description
        lines = [f"## {name}", f"{described[0].upper()}{described[1:]}.", f"```\n{run['formula']}\n```"]
        lines.append(
            f"**{run['verdict']}** (seed {run['seed']}, {run['seconds']:.1f} s). {run['explanation']}"
        )
        lines += [f"Note: {note}." for note in run.get("notes", ())]
        folded = (
            {"invariant": "```\n" + "\n".join(run["invariant"]) + "\n```"} if run.get("invariant") else {}
        )
        if run.get("source"):
            folded[f"{name}.py"] = f"```python\n{run['source'].rstrip()}\n```"
        lines += [f"<details><summary>{t}</summary>\n\n{text}\n\n</details>" for t, text in folded.items()]
        parts.append("\n\n".join(lines))
    return "\n\n".join(parts)


def files() -> dict[str, str]:
    """What pages show as files of their own: figures of experiments."""
    made = {}
    for name in NAMES:
        for way in ways_of(name):
            if (figure := place_of(name, way, "figure.svg")).exists():
                made[f"docs/results/experiment_{name}_{way}.svg"] = figure.read_text(encoding="utf-8")
    return made


_NAMED = (
    attack, attacks, behind, compared, decompiled, experiment, experiment_sources, failures, gallery, limits,
    origins, own_files, protocol, sources, suite, summary, taken, times,
)  # fmt: skip
SLOTS: dict[str, Callable[..., str]] = {
    **{slot.__name__: slot for slot in _NAMED},
    "counts": lambda name: counted(rows(name)),
    "counts_of_group": lambda name, group: counted(rows(name, group=group)),
    "head": lambda name, key: str(record(name).head.get(key, "-")),
    "networks": lambda name: networks(rows(name)),
    "kept": lambda: listed(rows("kept"), {name: name for name in rows("kept")[0]}),
}
