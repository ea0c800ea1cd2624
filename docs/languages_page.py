"""The page of formal languages: programs and merged states beside each other, and how many rows they need."""

from __future__ import annotations

from collections import Counter
from statistics import median

from figures import taken
from network_page import network_counts
from page_text import RENEW, SOLVED, code, networks_of, page, table, unmeasured
from reading_tables import Row
from weights2code import tasks
from weights2code.experiments.limits import failure

KINDS = {True: "finitely many states", False: "something grows with the length, or many states"}


def languages(record: Row | None, rows: Row | None) -> str:
    """The suite, and the rows that its finite machines need."""
    return page(
        "Formal languages",
        "Languages and machines on which automata extraction is measured: most of what they remember is not "
        "in their outputs (`w2c tasks --suite languages`). The search sees sequences of inputs and outputs "
        "and folds states out of them; the reference is what the certificate is made against. Beside each "
        "program stands what RPNI makes of the same rows (AALpy; a table of states, one of them for the time "
        "before the first row).",
        *(_suite(record) if record else [unmeasured(RENEW.format("languages"))]),
        "## Rows needed",
        *(_rows(rows) if rows else [unmeasured(RENEW.format("language_rows"))]),
    )


def language_counts(rows: list[Row]) -> tuple[str, str]:
    """What the summary says of the programs, and of merged states."""
    by_task = _by_task(rows)
    seeds = len({row["seed"] for row in rows})
    solved = sum(all(run["solved"] for run in runs) for runs in by_task.values())
    proved = sum(all(_is_proved(run) for run in runs) for runs in by_task.values())
    exact = sum(all(run["rpni_exact"] for run in runs) for runs in by_task.values())
    each = f"by each of {seeds} seeds" if seeds > 1 else "with one seed"
    seconds = median(row["seconds"] for row in rows)
    words = f"{solved} of {len(by_task)} solved {each}, {proved} proved; median {seconds:.1f} s"
    return words, f"RPNI: {exact} of {len(by_task)}, as a table of states"


def _by_task(rows: list[Row]) -> dict[str, list[Row]]:
    return {
        name: [row for row in rows if row["task"] == name] for name in dict.fromkeys(r["task"] for r in rows)
    }


def _is_proved(row: Row) -> bool:
    return row["solved"] and row["verdict"] == "proved"


def _suite(record: Row) -> list[str]:
    rows = record["rows"]
    ours, theirs = language_counts(rows)
    parts = [
        f"{ours}. {theirs}. Networks: {network_counts(rows)}.",
        f"A run is {SOLVED} if its program equals the reference; *right* are the states of RPNI that do. "
        f"Each has at most {record['time_limit']:g} s. *Lines* are those of the program's body, *operations* "
        "all that it computes in a step.",
    ]
    head = ("language", "solved", "proved", "seconds", "lines", "operations", "network", "program")
    for finite, words in KINDS.items():
        chosen = _by_task([row for row in rows if row["finite"] is finite])
        cells = [(*_program_cells(runs), *_state_cells(runs)) for runs in chosen.values()]
        if cells:
            beside = ("RPNI: states", "right", "seconds")
            parts += [f"## {words[0].upper()}{words[1:]}", table((*head, *beside), cells)]
    return [*parts, *_missed(rows), taken(record)]


def _program_cells(runs: list[Row]) -> tuple[object, ...]:
    good = [run for run in runs if run["solved"]]
    shown = min(good, key=lambda run: (not _is_proved(run), run["operations"]), default=None)
    networks = Counter(map(networks_of, good))
    return (
        f"`{_name(runs[0])}`",
        f"{len(good)}/{len(runs)}",
        f"{sum(map(_is_proved, runs))}/{len(runs)}",
        f"{median(run['seconds'] for run in runs):.1f}",
        shown["body"] if shown else "-",
        shown["operations"] if shown else "-",
        ", ".join(f"{verdict} {number}" for verdict, number in networks.items()) or "-",
        code(shown["formula"]) if shown else "-",
    )


def _state_cells(runs: list[Row]) -> tuple[object, ...]:
    states = dict.fromkeys("-" if run["rpni_states"] is None else str(run["rpni_states"]) for run in runs)
    return (
        ", ".join(states),
        f"{sum(run['rpni_exact'] for run in runs)}/{len(runs)}",
        f"{median(run['rpni_seconds'] for run in runs):.2f}",
    )


def _name(row: Row) -> str:
    """The name that the task has in this suite, which is its last one."""
    task = tasks.get(row["task"])
    return (task.name, *task.aliases)[-1]


def _missed(rows: list[Row]) -> list[str]:
    cells = [
        (f"`{_name(row)}`", row["seed"], found.limit, found.evidence)
        for row in rows
        if not row["solved"] and (found := failure(row))
    ]
    if not cells:
        return []
    words = "What limits the others, [read off the nearest attempt](failures.md):"
    return ["## Missed", words, table(("language", "seed", "limit", "evidence"), cells)]


def _rows(record: Row) -> list[str]:
    rows, counts = record["rows"], record["sequences"]
    names = list(dict.fromkeys(row["task"] for row in rows))
    cells = [(f"`{name}`", *_shares([row for row in rows if row["task"] == name], counts)) for name in names]
    total = ("all", *_shares(rows, counts))
    head = ("language", *(word for count in counts for word in (f"{count} sequences", "RPNI")))
    return [
        "A fit sees so many sequences of length 12 and nothing else. How often it is "
        f"{SOLVED}, and how often the states of RPNI are right, over {len(record['seeds'])} draws; at most "
        f"{record['time_limit']:g} s a fit.",
        table(head, [*cells, total]),
        taken(record),
    ]


def _shares(rows: list[Row], counts: list[int]) -> list[str]:
    found = []
    for count in counts:
        chosen = [row for row in rows if row["sequences"] == count]
        found += [f"{sum(row[key] for row in chosen)}/{len(chosen)}" for key in ("solved", "rpni_exact")]
    return found
