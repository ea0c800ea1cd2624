"""Slots of the paper's experiments, and of the page that says where we are better, equal or worse."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import figures
from measured import FIGURES, NotMeasured, known, record, renew
from weights2code.experiments import registry
from weights2code.experiments.records import Record
from weights2code.experiments.tables import Line, Table, markdown, markdown_table

#: Those that are, then those that were.
NAMES = (*registry.NAMES, *renew.FORMER)
STANDINGS = ("better", "equal", "mixed", "worse")
WAYS_IN_WORDS = {
    "fast": "the fast recipe",
    "paper": "the paper's recipe",
    "concat": "the fast recipe, inputs and outputs in one sequence",
}


def counts_of(standing: Counter[str]) -> str:
    return ", ".join(f"{standing[word]} {word}" for word in STANDINGS if standing[word])


def ways_of(name: str) -> dict[str, Record]:
    """The records of an experiment, by the way in which it was asked."""
    names = {way: name if way == "fast" else f"{name}_{way}" for way in renew.WAYS}
    return {way: record(full) for way, full in names.items() if full in FIGURES and known(full)}


def place_of(name: str, way: str, file: str) -> Path:
    """A file beside the record of an experiment."""
    return figures.ROOT / Path(FIGURES[name if way == "fast" else f"{name}_{way}"].record).with_name(file)


@cache
def table_of(name: str, way: str) -> Table:
    found = ways_of(name)[way]
    if kept := found.head.get("table"):  # of an experiment that was
        return Table(kept["columns"], [Line(**line) for line in kept["lines"]], kept["notes"])
    return registry.get(name).table(found.rows)


def standing(name: str, way: str) -> Counter[str]:
    return Counter(line.standing for line in table_of(name, way).lines if line.standing)


def experiment(name: str) -> str:
    """Every way in which it was run: table, notes, figure, where it comes from."""
    found = ways_of(name)
    if not found:
        raise NotMeasured(name)
    parts = []
    for way, made in found.items():
        table, head = table_of(name, way), made.head
        parts.append(f"## T{WAYS_IN_WORDS[way][1:]}")
        if standing(name, way):
            parts.append(f"Rows beside the paper's: {counts_of(standing(name, way))}.")
        parts += [markdown_table(table), *table.notes]
        if place_of(name, way, "figure.svg").exists():
            parts.append(f"![{name}](experiment_{name}_{way}.svg)")
        failed = [row["key"] for row in made.rows if row.get("status") == "failed"]
        parts += [f"Runs that ended in an error: {', '.join(failed)}."] * bool(failed)
        parts.append(figures.taken(head))
        parts += [
            figures.taken(one, what="Its models were trained before") for one in head.get("trained_by", ())
        ]
    return "\n\n".join(parts)


def compared() -> str:
    """Where we are better, equal or worse than the paper, experiment by experiment."""
    lines = []
    for name in NAMES:
        for way in ways_of(name):
            if counts := standing(name, way):
                link = f"[{name}](experiment_{name}.md)"
                lines.append((link, way, *(counts[word] for word in STANDINGS)))
    return markdown(("experiment", "way", *STANDINGS), lines)


def behind() -> str:
    """The rows that are not at least equal, with both numbers and the reason."""
    parts = []
    for name in NAMES:
        for way in ways_of(name):
            whole = table_of(name, way)
            lines = [line for line in whole.lines if line.standing in ("worse", "mixed")]
            if lines:
                titles = {
                    key: text for key, text in whole.columns.items() if key not in ("formula", "nearest")
                }
                marked = [Line({**line.cells, "why": line.why or None}, line.standing) for line in lines]
                parts.append(f"### [{name}](experiment_{name}.md), {WAYS_IN_WORDS[way]}")
                parts.append(markdown_table(Table({**titles, "why": "why"}, marked)))
    return "\n\n".join(parts) or "Nowhere, in what was measured."


def times() -> str:
    """Seconds to a program on each task: the paper's recipe against the fast one."""
    both = ways_of("table1")
    if not {"fast", "paper"} <= set(both):
        raise NotMeasured("table1_paper")
    seconds = {
        way: {line.cells["task"]: line.cells["seconds"] for line in table_of("table1", way).lines}
        for way in both
    }
    lines = [
        (task, f"{fast:.1f}", f"{slow:.1f}", f"{slow / fast:.3g}")
        for task, fast in seconds["fast"].items()
        if fast and (slow := seconds["paper"].get(task))
    ]
    trained = both["paper"].head.get("trained_by", [both["paper"].head])[-1]
    where = f"Fast on {figures.machine(both['fast'].head)}; the paper's recipe on {figures.machine(trained)}."
    head = ("task", "fast, seconds a seed", "paper's recipe, seconds for all seeds", "ratio")
    return f"{where}\n\n{markdown(head, lines)}"


def protocol() -> str:
    """How the time of the whole protocol divides."""
    found = record("protocol_paper")
    trained = found.head.get("trained_by", [found.head])[-1]
    sums = {
        name: sum(row[f"{name}_seconds"] for row in found.rows) for name in ("training", "data", "extraction")
    }
    lines = [
        ("the whole, from start to end", f"{trained['wall_seconds']:.0f}"),
        ("trainings, each from its start to its end, six at once", f"{sums['training']:.0f}"),
        ("making the sequences", f"{sums['data']:.0f}"),
        ("reading and certifying programs, on processor cores beside them", f"{sums['extraction']:.0f}"),
    ]
    return f"{markdown(('part', 'seconds'), lines)}\n\n{figures.taken(trained, what='Trained')}"


def experiment_sources() -> str:
    """The same of the paper's experiments."""
    return figures.taken_list(
        (f"{name} ({way})", found.head) for name in NAMES for way, found in ways_of(name).items()
    )
