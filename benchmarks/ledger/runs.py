"""Whole runs: the program, the verdicts and the processor seconds; and what the program reads."""

from __future__ import annotations

import time
from typing import Any

import problems
from problems import KEPT

from weights2code.experiments.benchmark import prepare as imported
from weights2code.experiments.cases import solve
from weights2code.language import Count, Recurrence, Retrieval, Var, definition_variables

Record = dict[str, Any]
WORDS = ("same", "lost", "won", "longer", "shorter", "weaker")
#: Seconds by the clock after which an answer is given up.
LIMIT = 1200.0
#: Verdicts on programs and on networks, the weakest first.
PROGRAM = ("error", "not extracted", "failed", "tested", "exhaustive", "proved")
NETWORK = ("none", "differs", "tested", "bounded", "exhaustive", "proved")


def replay(record: Record) -> Record:
    """One search in this process, timed by the clock of the processor."""
    began = time.process_time()
    try:
        row = searched(record)
    except Exception as error:
        row = {"solved": False, "verdict": "error", "why": f"{type(error).__name__}: {error}"}
    names = ("exit", "solved", "verdict", "network", "taught", "origin", "way", "why")
    answer = {name: row[name] for name in names if name in row} | {"size": row.get("operations", 0)}
    answer["seconds"] = round(time.process_time() - began, 2)
    if row.get("formula") and record["group"] not in KEPT:  # of kept groups only what can be counted
        answer |= {"formula": row["formula"], "text": row["source"], "view": row["view"]}
    return answer


def searched(record: Record) -> Record:
    def reads(outcome: Any) -> Record:
        return {"view": view(outcome.program.recurrence)} if outcome.program else {}

    if record["group"] == "tables":
        row, program = problems.fitted(record["name"])
        return row | ({"view": view(program.recurrence)} if program else {})
    return solve(problems.case_of(record), reads)


def solved(record: Record) -> bool:
    return record["answer"]["solved"]


def prepare(records: list[Record]) -> None:
    """What all searches need is imported once, before processes are forked."""
    import weights2code.cli.dispatch  # noqa: F401

    imported()


def compare(record: Record, answer: Record) -> tuple[str, ...]:
    """Lost, won, longer or shorter; and beside it `weaker` where a verdict has fallen."""
    words = by_size(record, answer)
    if not (record["answer"]["solved"] and answer.get("solved", False)):
        return words
    return words if strength(answer) >= strength(record["answer"]) else (*words, "weaker")


def by_size(record: Record, answer: Record) -> tuple[str, ...]:
    """Lost and won by what is solved; of what stays solved, whether it got longer or shorter."""
    then = record["answer"]
    if then["solved"] != answer.get("solved", False):
        return ("lost",) if then["solved"] else ("won",)
    if not then["solved"] or then["size"] == answer["size"]:
        return ("same",)
    return ("longer",) if answer["size"] > then["size"] else ("shorter",)


def strength(answer: Record) -> tuple[int, int]:
    """Of the verdicts on the program, and on the better of its networks."""
    networks = max(NETWORK.index(answer.get(which, "none")) for which in ("network", "taught"))
    return PROGRAM.index(answer["verdict"]), min(networks, NETWORK.index("bounded"))


def describe(record: Record, answer: Record) -> str:
    then = record["answer"]
    verdicts = [f"{a['verdict']}/{a.get('network', 'none')}" for a in (then, answer) if "verdict" in a]
    formulas = [(a.get("formula") or "-").replace("\n", "; ") for a in (then, answer)]
    why = answer.get("why") or answer.get("error") or formulas[1]
    return f"{record['key']} ({' -> '.join(verdicts)}) {formulas[0]}  ->  {why}"


def view(program: Recurrence) -> dict[str, list[str]]:
    """What a program reads, by kind: columns at lags, own outputs, running quantities, lookups, states."""
    found: dict[str, set[str]] = {}

    def note(kind: str, words: str) -> None:
        found.setdefault(kind, set()).add(words)

    program = program.live()
    hidden = {step.name for step in program.steps} - set(program.outputs)
    lags: dict[str, set[int]] = {}
    for step in program.steps:
        rule, reads = step.definition, definition_variables(step.definition)
        for variable in reads:
            if variable.name in program.inputs:
                note("columns", str(variable))
                lags.setdefault(variable.name, set()).add(variable.lag)
            elif variable.lag and variable.name in program.outputs:
                note("outputs", str(variable))
        if isinstance(rule, Retrieval):
            note("lookups", f"{rule.value} by {rule.key}")
        elif isinstance(rule, Count):
            note("running", f"count of {rule.key} {rule.sign}")
        elif accumulates(step.name, rule):
            note("running", f"{step.name}[t] = {rule}")
        elif step.name in hidden and Var(step.name, 1) in reads:
            note("states", f"{step.name}[t] = {rule}")
    for name, known in lags.items():
        first, last = min(known), max(known)
        if last - first >= 2 and len(known) == last - first + 1:
            note("windows", f"{name}[t-{last}..t-{first}]")
    return {kind: sorted(names) for kind, names in sorted(found.items())}


def accumulates(name: str, definition: Any) -> bool:
    """Whether a step is a sum or an extremum of something over everything so far."""
    if getattr(definition, "name", "") not in ("add", "sub", "max", "min"):
        return False
    past, args = Var(name, 1), definition.args
    return past in args and sum(past in arg.variables() for arg in args) == 1
