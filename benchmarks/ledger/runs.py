"""Whole runs: the program, the verdicts and the processor seconds; and what the program reads, its view."""

from __future__ import annotations

import time
from typing import Any

import problems
from problems import KEPT, Case

from weights2code import effort
from weights2code.language import Count, Expr, Recurrence, Retrieval, Var, definition_variables

Record = dict[str, Any]
#: Verdicts on programs and on networks, the weakest first.
PROGRAM = ("error", "not extracted", "failed", "tested", "exhaustive", "proved")
NETWORK = ("none", "differs", "tested", "bounded", "exhaustive", "proved")


def replay(record: Record) -> Record:
    """One search in this process, by the clock of the processor, so that a busy machine changes nothing."""
    effort.clock = time.process_time
    began = time.process_time()
    try:
        found = problems.find(Case(record["group"], record["name"], record.get("text")))
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        seconds = round(time.process_time() - began, 2)
        return {
            "solved": False,
            "size": 0,
            "verdict": "error",
            "network": "none",
            "why": why,
            "seconds": seconds,
        }
    certificate, program = found.certificate, found.program
    answer = {
        "exit": found.exit,
        "solved": found.solved,
        "size": program.operations if program else 0,
        "verdict": certificate.get("verdict", "not extracted"),
        "network": network(certificate, "network"),
        "taught": network(certificate, "taught"),
        "seconds": round(time.process_time() - began, 2),
    }
    if program is not None and record["group"] not in KEPT:  # of kept groups only what can be counted
        answer |= {"formula": program.formula(), "text": program.source(), "view": view(program.recurrence)}
    return answer


def network(certificate: dict[str, Any], which: str) -> str:
    return (certificate.get(which) or {}).get("verdict", "none")


def prepare(records: list[Record]) -> None:
    """What all searches need is imported and drawn once, before processes are forked."""
    import scipy.optimize  # noqa: F401
    import torch
    import z3  # noqa: F401

    import weights2code.cli.dispatch
    import weights2code.pipeline
    import weights2code.training.train  # noqa: F401

    torch.set_num_threads(1)
    for group in {record["group"] for record in records if "text" not in record} & problems.RANDOM.keys():
        problems.random_programs(group)


def compare(record: Record, answer: Record) -> tuple[str, ...]:
    """Lost, won, longer or shorter; and beside it `weaker` where a verdict has fallen."""
    then = record["answer"]
    if then["solved"] != answer.get("solved", False):
        return ("lost",) if then["solved"] else ("won",)
    if not then["solved"]:
        return ("same",)
    words = ("same",)
    if then["size"] != answer["size"]:
        words = ("longer",) if answer["size"] > then["size"] else ("shorter",)
    return words if strength(answer) >= strength(then) else (*words, "weaker")


def strength(answer: Record) -> tuple[int, int]:
    """Of the verdicts on the program, and on the better of its networks."""
    networks = max(NETWORK.index(answer.get(which, "none")) for which in ("network", "taught"))
    return PROGRAM.index(answer["verdict"]), min(networks, NETWORK.index("bounded"))


def compare_views(record: Record, answer: Record) -> tuple[str, ...]:
    """Whether the rule was found by reading as much, more or less."""
    if not answer.get("solved", False):
        return ("lost",)
    then, now = (sum(map(len, view.values())) for view in (record["answer"]["view"], answer["view"]))
    if record["answer"]["view"] == answer["view"]:
        return ("same",)
    return ("same",) if then == now else ("longer",) if now > then else ("shorter",)


def describe(record: Record, answer: Record) -> str:
    formulas = [found.get("formula", "-").replace("\n", "; ") for found in (record["answer"], answer)]
    verdicts = [
        f"{found['verdict']}/{found['network']}" for found in (record["answer"], answer) if "verdict" in found
    ]
    why = answer.get("why") or answer.get("error", "")
    return f"{record['key']} ({' -> '.join(verdicts)}) {formulas[0]}  ->  {why or formulas[1]}"


def describe_view(record: Record, answer: Record) -> str:
    return f"{record['key']} {record['answer']['view']}  ->  {answer.get('view')}"


def view(program: Recurrence) -> dict[str, list[str]]:
    """What a program reads, by kind: columns at lags, own outputs, running quantities, lookups, states."""
    found: dict[str, set[str]] = {}
    program = program.live()
    own = {step.name for step in program.steps}
    hidden = own - set(program.outputs)
    for step in program.steps:
        for variable in definition_variables(step.definition):
            if variable.name in program.inputs:
                found.setdefault("columns", set()).add(str(variable))
            elif variable.lag and variable.name in program.outputs:
                found.setdefault("outputs", set()).add(str(variable))
        reads_itself = Var(step.name, 1) in definition_variables(step.definition)
        if isinstance(step.definition, Retrieval):
            found.setdefault("lookups", set()).add(f"{step.definition.value} by {step.definition.key}")
        elif isinstance(step.definition, Count):
            found.setdefault("running", set()).add(f"count of {step.definition.key} {step.definition.sign}")
        elif isinstance(step.definition, Expr) and step.name in hidden and reads_itself:
            kind = "running" if accumulates(step.name, step.definition) else "states"
            found.setdefault(kind, set()).add(f"{step.name}[t] = {step.definition}")
        elif isinstance(step.definition, Expr) and accumulates(step.name, step.definition):
            found.setdefault("running", set()).add(f"{step.name}[t] = {step.definition}")
    for name in program.inputs:
        lags = sorted(
            v.lag for s in program.steps for v in definition_variables(s.definition) if v.name == name
        )
        distinct = sorted(set(lags))
        if len(distinct) >= 3 and distinct == list(range(distinct[0], distinct[0] + len(distinct))):
            found.setdefault("windows", set()).add(f"{name}[t-{distinct[-1]}..t-{distinct[0]}]")
    return {kind: sorted(names) for kind, names in sorted(found.items())}


def accumulates(name: str, definition: Expr) -> bool:
    """Whether a step is a sum or an extremum of something over everything so far."""
    past = Var(name, 1)
    args = getattr(definition, "args", ())
    if getattr(definition, "name", "") not in ("add", "sub", "max", "min") or past not in args:
        return False
    return sum(past in arg.variables() for arg in args) == 1
