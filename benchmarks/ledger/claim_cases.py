"""Where the pairs come from, and what the oracles know of each.

Built-in tasks with every program that a benchmark's record has of them and with their own machine in shorter
words; mutants, machines and networks as the attacks of `../reliability` make them; trained networks as they
are and with a weight changed; and what was once claimed and was not so (`soundness`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from math import inf
from pathlib import Path
from typing import Any

import claims  # with which the oracles can be imported
import closure
import machines
import mutants
import network_truth
import networks
import numpy as np
import soundness
import truth
import weights
from claims import Record
from truth import Case, Rows

from weights2code.graph import DiscreteGraph, to_dict
from weights2code.language import Domain, Recurrence
from weights2code.language.formula_reading import read_recurrence
from weights2code.simplify import simplify_recurrence
from weights2code.tasks import all_tasks
from weights2code.tasks.task import Task

BENCHMARKS = Path(__file__).parents[1]
#: Of what is drawn.
SEED = 28
#: Cases of each group.
MUTANTS, MACHINES, NETWORKS = 1000, 300, 400
#: Of the networks, those that were trained and had a weight changed.
TRAINED = 120
#: Records of runs whose programs are claims about built-in tasks.
FOUND = (
    "suites/results/mips.json",
    "suites/results/four.json",
    "languages/results/languages.json",
    "experiments/table1/experiment.json",
)
#: Effort of a proof: that of a run for built-in tasks, less for the many others.
EFFORT, LITTLE = 5.0, 1.0
#: Positions of the oracle's long runs.
LONG = 500
#: What reals may be off by, as a share of the largest target, to pass a test.
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Pair:
    """A network and its program, and sequences that may tell them apart."""

    kind: str
    graph: DiscreteGraph
    program: Recurrence
    domains: tuple[Domain, ...]
    whole: bool
    telling: list[np.ndarray] = field(default_factory=list)


def records(limit: int | None = None) -> Iterator[Record]:
    """Every record without its answer."""
    for group, made in (
        ("soundness", _soundness()),
        ("built-in", _built_in()),
        ("mutants", islice(_mutants(), MUTANTS)),
        ("machines", islice(_machines(), MACHINES)),
        ("networks", islice(_networks(), NETWORKS)),
    ):
        for record in islice(made, limit):
            yield {"key": f"{group}/{record.pop('name')}", "group": group, **record}


# -- programs ------------------------------------------------------------------------------------------------


def _built_in() -> Iterator[Record]:
    found = found_programs()
    for task in all_tasks("all"):
        shorter = simplify_recurrence(task.machine, task.domains)
        programs = dict.fromkeys([*found.get(task.name, ()), shorter])
        for number, program in enumerate(programs):
            case = Case(
                task.name, program, task.machine, task.domains, task.integer_outputs, task.length,
                right=program == task.machine,
            )  # fmt: skip
            yield of_program(f"{task.name}-{number}", case, number, effort=EFFORT, drawn=256, task=task)


def found_programs() -> dict[str, list[Recurrence]]:
    """The programs of recorded runs, by task, as far as their formulas can be read back."""
    known = {task.name: task for task in all_tasks("all")}
    found: dict[str, list[Recurrence]] = {}
    for file in FOUND:
        for name, formula in _formulas(json.loads((BENCHMARKS / file).read_text(encoding="utf-8"))):
            if name in known and (program := _read(known[name], formula)) is not None:
                found.setdefault(name, []).append(program)
    return found


def _formulas(data: Any) -> Iterator[tuple[str, str]]:
    """Tasks with a formula, anywhere in a record of runs."""
    if isinstance(data, dict) and isinstance(data.get("formula"), str) and "task" in data:
        yield data["task"], data["formula"]
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _formulas(part)


def _read(task: Task, formula: str) -> Recurrence | None:
    """A program by its formula; None if that has what formulas cannot say, such as a lookup."""
    lines, _, start = formula.partition("\nbefore the start ")
    words = (part.split(" = ") for part in start.split(", ") if part)
    try:
        starts: dict[str, Any] = {
            name: "first" if value == f"{name}[0]" else float(value) for name, value in words
        }
        return read_recurrence(task.columns, lines, task.outputs, starts)
    except ValueError:
        return None


def _mutants() -> Iterator[Record]:
    for number in count():
        rng = np.random.default_rng([SEED, number])
        made = mutants.case_of(rng)
        if made is not None:
            task, case = made
            yield of_program(f"{number:04}", case, number, effort=LITTLE, drawn=64, task=task)


def _machines() -> Iterator[Record]:
    families = list(machines.FAMILIES.values())
    for number in count():
        case = families[number % len(families)](np.random.default_rng([SEED, number]))
        yield of_program(f"{number:04}", case, number, effort=LITTLE, drawn=256)


def of_program(
    name: str, case: Case, seed: int, *, effort: float, drawn: int, task: Task | None = None
) -> Record:
    """A program and its specification, with the truth about them."""
    record: Record = {
        "name": name,
        "what": "program",
        "kind": case.kind,
        "left": case.program.to_dict(),
        "right": case.reference.to_dict(),  # type: ignore[union-attr]
        "domains": [domain.to_dict() for domain in case.domains],
        "whole": case.whole,
        "length": case.length,
        "seed": seed,
        "effort": effort,
        "count": drawn,
    }
    if task is not None and task.sampler is not None:
        record["sampler"] = task.name
    return record | truth_of_program(case, np.random.default_rng([SEED, seed]))


def truth_of_program(case: Case, rng: np.random.Generator) -> Record:
    """Whether both are equal in all states that they reach, if those can be run; else what many runs show."""
    function, states = truth.text_function(case), closure.closed(case)
    shortest = [states] if isinstance(states, list) else []
    enough: float = case.length if isinstance(states, int) else inf
    wrong: truth.Difference | None = None
    worst: truth.Difference | None = None
    runs, random, often = 0, 0, 0
    for rows in chain(shortest, truth.sequences(case, rng, LONG)):
        if len(rows) > enough:
            continue
        found = truth.difference(case, function, rows)
        runs, random = runs + 1, random + (len(rows) == case.length)
        if found is None:
            continue
        if found.wrong:
            often += len(rows) == case.length and (case.whole or found.by > TOLERANCE * found.scale)
            if wrong is None or found.position < wrong.position:
                wrong, enough = found, max(case.length, len(found.rows))
        worst = found if worst is None or found.by > worst.by else worst
    known = [found for found in (wrong, None if worst is wrong else worst) if found is not None]
    telling, share = [found.rows for found in known], {"often": round(often / max(random, 1), 3)}
    if wrong is not None or (known and case.whole):
        how = f"off by {known[0].by:.3g} after {known[0].position + 1} inputs"
        return _known("different", how, telling) | share
    if isinstance(states, int):
        return _known("equal", f"in all {states} states that both reach", telling) | share
    if case.right:
        return _known("equal", "by construction", telling) | share
    return _known("unknown", f"no difference in {runs} sequences", telling) | share


def _known(word: str, how: str, telling: Iterable[Rows]) -> Record:
    return {"truth": word, "from": how, "telling": claims.packed(telling)}


# -- networks ------------------------------------------------------------------------------------------------


def _networks() -> Iterator[Record]:
    for number, name in enumerate(weights.TASKS):
        base = weights.base(name)
        yield of_network(f"trained/{name}", _pair(base, base.graph, "as it was trained"), number)
    for number in range(TRAINED):
        name = weights.TASKS[number % len(weights.TASKS)]
        rng = np.random.default_rng([SEED, number])
        kind, mutant, _ = weights.mutant_of(weights.base(name), rng)
        yield of_network(f"trained/{name}-{number:03}", _pair(weights.base(name), mutant, kind), number)
    for number in count():
        pair = _made(number)
        if pair is not None:
            yield of_network(f"made/{number:04}", pair, number)


def _pair(base: weights.Base, graph: DiscreteGraph, kind: str) -> Pair:
    return Pair(kind, graph, base.program, base.problem.domains, base.problem.integer_outputs)


def _made(number: int) -> Pair | None:
    """A network made by hand with a program that is nearly its own."""
    rng, family = np.random.default_rng([SEED, number]), networks.family_of(number)
    if family in networks.BOUNDED:
        network, program = networks.BOUNDED[family](rng)
        return Pair(family, network.graph, program, network.domains, "reals" not in family)
    made = networks.nearly_own(family, rng)
    if made is None:
        return None
    way, network, program, telling = made
    return Pair(f"{family}, {way}", network.graph, program, network.domains, True, telling)


def of_network(name: str, pair: Pair, seed: int) -> Record:
    """A network and its program, with the truth about them."""
    record: Record = {
        "name": name,
        "what": "network",
        "kind": pair.kind,
        "left": to_dict(pair.graph),
        "right": pair.program.to_dict(),
        "domains": [domain.to_dict() for domain in pair.domains],
        "whole": pair.whole,
        "seed": seed,
        "telling": claims.packed(x.tolist() for sequences in pair.telling for x in sequences),
    }
    return record | truth_of_network(record, pair)


def truth_of_network(record: Record, pair: Pair) -> Record:
    known = claims.known_runs(record, pair.program, pair.domains)
    found = network_truth.difference(pair.graph, known, whole=pair.whole)
    runs = sum(len(some.x) for some in known)
    if found.sequence is not None:
        how = f"rounds to another number after {len(found.sequence)} inputs"
        return _known("different", how, [found.sequence.tolist()])
    scale = max(float(np.abs(some.right[np.isfinite(some.right)]).max(initial=1.0)) for some in known)
    if not pair.whole and found.error > truth.ROUNDING * scale:
        return _known("different", f"off by up to {found.error:.3g} one step ahead", ())
    return {"truth": "unknown", "from": f"no difference in {runs} sequences"}


# -- what was once claimed and was not so --------------------------------------------------------------------


def _soundness() -> Iterator[Record]:
    for number, case in enumerate(soundness.PROGRAMS):
        yield of_program(case.kind, case, number, effort=EFFORT, drawn=256)
    for number, (name, graph, program, domains, telling) in enumerate(soundness.NETWORKS):
        yield of_network(name, replace(Pair(name, graph, program, domains, True), telling=telling), number)
