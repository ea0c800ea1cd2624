"""The summary of all that was measured, a line each, and where all of it comes from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import figures
from experiment_slots import NAMES, counts_of, standing, ways_of
from measured import FIGURES, NotMeasured, counted, known, record, renew, rows
from weights2code import tasks
from weights2code.experiments import paper_numbers
from weights2code.experiments.tables import markdown, members_of


def mips_solved() -> set[str]:
    """The tasks that MIPS solved, by our names."""
    facts = json.loads((Path(__file__).parent / "data/mips.json").read_text(encoding="utf-8"))
    return {tasks.get(name).name for name in facts["solved"]}


def summary(folder: str = "") -> str:
    """What was measured, a line each; the README has the first ten."""
    whole = [line for line in (make(folder) for make in SUMMARY if line_is_measured(make)) if line]
    return markdown(("measured", "result", "beside it"), whole[:10] if folder else whole)


def line_is_measured(make: Callable[[str], Any]) -> bool:
    try:
        make("")
    except NotMeasured:
        return False
    return True


def _own(folder: str) -> tuple[str, str, str]:
    found = [*rows("own_data"), *rows("deep")]
    theirs = rows("operon")
    beside = ", ".join(f"{sum(row[f'lags_{n}'] for row in theirs)} with lags to {n}" for n in (3, 8))
    return f"[own data]({folder}own_data.md)", counted(found), f"Operon, of {len(theirs)}: {beside}"


def _kept(folder: str) -> tuple[str, str, str]:
    *sizes, whole = rows("kept")
    shares = ", ".join(f"{row['solved']} of {row['programs']}" for row in sizes)
    text = f"{whole['solved']} of {whole['programs']} solved, {whole['proved']} proved; by size {shares}"
    return f"[random step functions]({folder}random_programs.md#step-functions) that nobody sees", text, ""


def _models(folder: str) -> tuple[str, str, str]:
    found = [row for part in ("gallery", "others", "damaged") for row in rows(f"decompile_{part}")]
    departs = sum(row.get("departs") is not None for row in found)
    text = f"the meant rule came out of {sum(row['right'] for row in found)} of {len(found)}"
    text += f"; {departs} depart from it"
    place = "docs/decompile.md" if folder else "../decompile.md"
    return f"[models that exist]({place}#how-well-it-works)", text, ""


def _experiments(folder: str) -> tuple[str, str, str]:
    total: Counter[str] = Counter()
    for name in NAMES:
        if "fast" in ways_of(name):
            total += standing(name, "fast")
    if not total:
        raise NotMeasured("table1")
    link = f"[the paper's experiments]({folder}compared_with_the_paper.md)"
    return link, f"rows of its tables: {counts_of(total)}", "the paper's own numbers"


def _protocol(folder: str) -> tuple[str, str, str]:
    found = record("protocol_paper")
    trained = found.head.get("trained_by", [found.head])[-1]
    device = trained["machine"].get("accelerator", trained["machine"]["processor"])
    text = (
        f"{len(members_of(found.rows))} full trainings in {trained['wall_seconds'] / 60:.0f} minutes on one "
    )
    text += f"{device}; losses of its tasks: {counts_of(standing('protocol', 'paper'))}"
    return f"[its whole protocol]({folder}experiment_protocol.md), its recipe", text, "the paper's losses"


def _attacks(folder: str) -> tuple[str, str, str]:
    heads = [found.head for found in known(*renew.ATTACKS).values()]
    if not heads:
        raise NotMeasured(renew.ATTACKS[0])
    text = f"{sum(h['failures'] for h in heads)} failures in {sum(h['cases'] for h in heads)} cases"
    return f"[attacks on what it claims]({folder}reliability.md)", text, ""


def _table1(folder: str) -> tuple[str, str, str]:
    accuracies = [row["accuracy"] for row in paper_numbers.read("table1") if row["accuracy"] != "n/a"]
    beside = f"the paper: accuracy 1.00 on {accuracies.count('1.00')} of {len(accuracies)} discrete tasks"
    return f"[the paper's 29 tasks]({folder}experiment_table1.md)", counted(rows("table1")), beside


def _mips(folder: str) -> tuple[str, str, str]:
    beside = f"MIPS: {len(mips_solved())} of 62"
    return f"[the 62 tasks of MIPS]({folder}mips.md)", counted(rows("mips")), beside


def _of(name: str) -> Callable[[str], tuple[str, ...]]:
    """The line that a record holds whose question is answered."""
    return lambda folder: tuple(text.format(folder=folder) for text in record(name).head["summary"])


SUMMARY: tuple[Callable[[str], tuple[str, ...]], ...] = (
    _mips, _table1, _of("languages"), _experiments, _own, _of("tables"), _kept, _of("links"), _models,
    _attacks, _protocol, *(_of(f"random_{name}") for name in ("fresh", "deep", "hidden")), _of("wide"),
    _of("symbolic_regression"), _of("speed_cpu"), _of("speed_cuda"),
)  # fmt: skip


def sources() -> str:
    """Where all figures come from, a line a commit."""
    return figures.taken_list((name, found.head) for name, found in known(*FIGURES).items())
