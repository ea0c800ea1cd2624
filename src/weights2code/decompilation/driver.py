"""The driver, from a model to its program and verdict; it reads as the table of contents.

model -> how it is asked -> rule, departures fed back -> hunt -> verdict -> files
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.decompilation.hosts import Apart, Host, Own
from weights2code.decompilation.learning import Learner
from weights2code.decompilation.model import Asking, Model, introduced
from weights2code.decompilation.proofs import proved
from weights2code.decompilation.regions import Region, regions
from weights2code.decompilation.rule import Rule
from weights2code.decompilation.verdict import ModelCertificate, Share
from weights2code.effort import now, within
from weights2code.errors import InputError
from weights2code.language import Domain, uniform
from weights2code.program import Program
from weights2code.tasks.task import Task, read_columns
from weights2code.verify import Certificate, certify
from weights2code.verify.hunt import Departure, Hunt, drawn

#: Questions and seconds that a decompilation may take unless told.
QUERIES, SECONDS = 200_000, 300.0
#: Fewer questions than this say nothing.
FEWEST = 2000
#: Positions of random sequences of each length that agreement is told of, and sequences at most.
POSITIONS, MOST_SEQUENCES = 20_000, 1000
#: Of the questions, the share that agreement is measured with.
MEASURING = 0.1
#: Departures that are told.
TOLD = 5


@dataclass(frozen=True, slots=True, eq=False)
class Decompiled:
    """What came of a model.

    Attributes
    ----------
    program : what it computes; None if no search found anything.
    model : the verdict on the model, with where it departs.
    against : the certificate of the program against a task that was named.
    message, seconds : what came of it in a sentence, and how long it took.
    rule, task : the rule as it was judged, and the name of the task.
    rule_seconds, rule_queries, states : what the rule took, and of a finite machine its states.
    """

    program: Program | None
    model: ModelCertificate | None
    against: Certificate | None
    message: str
    seconds: float
    rule: Rule | None = None
    task: str = ""
    rule_seconds: float = 0.0
    rule_queries: int = 0
    states: int | None = None

    @property
    def exit_code(self) -> int:
        """0: no departure; 1: the model departs; 3: no program."""
        if self.model is None:
            return 3
        return 1 if self.model.departures else 0

    @property
    def agreement(self) -> dict[int, float]:
        """Of random sequences of each length, the share that agrees at every position."""
        return {} if self.model is None else {n: one.sequences for n, one in self.model.agreement.items()}

    @property
    def departures(self) -> tuple[Departure, ...]:
        """The shortest sequences on which the model is not its program."""
        return () if self.model is None else self.model.departures

    @property
    def shortest(self) -> Departure | None:
        return None if self.model is None else self.model.shortest

    @property
    def regions(self) -> tuple[Region, ...]:
        """Where the model first departs, in short tests."""
        return () if self.model is None else self.model.regions

    @property
    def margin(self) -> float | None:
        """The smallest margin that was seen where both agree."""
        return None if self.model is None or not self.model.thin else self.model.thin[0][0]

    def __str__(self) -> str:
        formula = self.program.formula() if self.program else "no program"
        return f"{formula}\n{self.message}"


def decompile(
    model: Any,
    inputs: Mapping[str, Domain | tuple[float, float]],
    length: int = 12,
    *,
    longest: int | None = None,
    read: str = "auto",
    at: Any = None,
    one_hot: int | None = None,
    time_first: bool = False,
    queries: int = QUERIES,
    against: Task | str | None = None,
    seed: int = 0,
    time_limit: float = SECONDS,
    say: Callable[[str], None] = lambda _: None,
) -> Decompiled:
    """The program of a model that exists, and where the model leaves it.

    Parameters
    ----------
    model
        A callable (n, T, columns) -> (n, T, k), a PyTorch module, or a path: `file.onnx`, `file.py:name`, a
        run folder.
    inputs
        The columns by name: a pair of whole numbers, or of floats, as for a `Task`.
    length
        The length of sequences on which the model is at home.
    longest
        The most positions that it takes; found out unless said.
    read
        How outputs are meant: `argmax`, `round`, `real:TOL`, or `auto`.
    at
        `every` position or the `last` alone; found out unless said.
    one_hot
        How many values each column is given as.
    time_first
        Whether arrays are (T, n, columns).
    queries
        How many sequences the model may be asked.
    against
        A task that the program is compared with too.
    seed, time_limit
        Of random sequences, and in seconds.
    say
        Told what is being done, a sentence each.

    Raises
    ------
    InputError
        If the model cannot be asked, or breaks.
    """
    began, asking = now(), Asking(length, longest, read, at, one_hot, time_first)
    if queries < FEWEST:
        raise InputError(f"--queries must be at least {FEWEST}, got {queries}.")
    columns, task = read_columns(inputs), _task(against)
    with _hosted(model) as host, within(time_limit, since=began):
        asked = introduced(host, columns, asking, seed)
        for line in (*asked.guessed, *asked.noted):
            say(line)
        outputs = _output_names(asked, columns)
        learner = Learner(asked, length, outputs, seed, queries, _name(model), say)
        rule = learner.best()
        if rule is None:
            return Decompiled(None, None, None, "no program was found", now() - began)
        spent = now() - began, asked.queries
        say("looking for departures")
        hunt = _hunted(rule, asked, length, queries, seed)
        verdict = _verdict(rule, asked, hunt, learner, now() - began)
        verdict = proved(verdict, model, rule, asked)
    compared = None if task is None else _against(rule, columns, task, length)
    message = verdict.explain()
    program = rule.program.with_verdict(message)
    name = "" if task is None else task.name
    taken = now() - began
    return Decompiled(program, verdict, compared, message, taken, rule, name, *spent, learner.states)


@contextmanager
def _hosted(model: Any):
    """The model where it runs, until nobody asks it any more."""
    host = host_of(model)
    try:
        yield host
    finally:
        host.close()


def host_of(model: Any) -> Host:
    """Where a model runs: files apart from this process."""
    if not isinstance(model, (str, Path)):
        return Own(model)
    text = str(model)
    if Path(text).is_dir():
        from weights2code.network.load import load_network

        return Own(load_network(text))
    path, colon, name = text.rpartition(":")
    if not (colon and path.endswith(".py")):
        path, name = text, ""
    if not Path(path).is_file():
        raise InputError(f"there is no model {path}; give file.onnx, file.py:name or a run folder.")
    if path.endswith(".py") and not name:
        raise InputError(f"name the model in {path} too, such as {path}:model.")
    if not path.endswith((".py", ".onnx")):
        raise InputError(f"{path} is no model that can be run: give file.onnx, file.py:name or a run folder.")
    return Apart(str(Path(path).absolute()), name)


def _name(model: Any) -> str:
    text = str(model) if isinstance(model, (str, Path)) else getattr(model, "__name__", "model")
    return Path(text.rpartition(":")[2] if ".py:" in text else text).stem or "model"


def _output_names(model: Model, columns: Mapping[str, Domain]) -> tuple[str, ...]:
    """`y`, or `y1`, `y2`, ...; `output` where a column has that name."""
    x = uniform(np.random.default_rng(0), model.domains, 1, 1)
    count = model(x)[0].shape[2]
    stem = "y" if not any(name.startswith("y") for name in columns) else "output"
    return (stem,) if count == 1 else tuple(f"{stem}{i + 1}" for i in range(count))


def _hunted(rule: Rule, model: Model, length: int, queries: int, seed: int) -> Hunt:
    near = 0.499 if model.reading.whole else model.reading.tolerance
    budget = max(FEWEST // 2, int((1 - MEASURING) * queries) - model.queries)
    rng = np.random.default_rng(seed + 1)
    raw = model.raw if model.reading.kind in ("round", "real") else None
    domains, last = model.domains, model.at == "last"
    hunt = Hunt(rule.recurrence, model, domains, length, model.longest, near, budget, rng, raw, last)
    hunt.whole()
    return hunt


def _verdict(rule: Rule, model: Model, hunt: Hunt, learner: Learner, seconds: float) -> ModelCertificate:
    """What is known after the hunt."""
    agreement, parting, lengths = {}, [], hunt.lengths()
    most = int(MEASURING * learner.budget) // (2 * len(lengths))
    for steps in lengths:
        count = max(8, min(MOST_SEQUENCES, most // hunt.each(steps), POSITIONS // steps))
        wrong, _ = hunt.compare(uniform(hunt.rng, model.domains, count, steps))
        agreement[steps] = Share(float(1 - wrong.any(1).mean()), float(1 - wrong.mean()))
        x = drawn(hunt.rng, model.domains, count, steps)
        parting.append((x, hunt.compare(x)[0]))
    departures = tuple(hunt.departures(TOLD))
    covered = hunt.exhaustive >= hunt.length
    word = "departs" if departures else "exhaustive" if covered else "agrees"
    covers = f"lengths 1 to {hunt.exhaustive}" if covered else f"lengths up to {hunt.lengths()[-1]}"
    where = [pair for pair in parting if pair[1].any()]
    return ModelCertificate(
        verdict=word,
        covers=covers,
        reading=model.reading.words(),
        how=(*model.guessed, *model.noted),
        length=hunt.length,
        longest=model.longest,
        agreement=agreement,
        departures=departures,
        proven_shortest=bool(departures) and hunt.proven,
        exhaustive=hunt.exhaustive,
        regions=tuple(regions(rule.recurrence, *where[0])) if where else (),
        thin=tuple(item for item in hunt.thinnest if np.isfinite(item[0])),
        queries=model.queries,
        seed=learner.seed,
        seconds=seconds,
        other_rules=tuple("; ".join(o.program.formula().splitlines()) for o in learner.others()),
        outputs=rule.recurrence.outputs,
    )


def _task(against: Task | str | None) -> Task | None:
    """The task that a program is compared with."""
    if against is None or isinstance(against, Task):
        return against
    from weights2code import tasks
    from weights2code.source import task_named
    from weights2code.tasks.task_file import TaskFile, load_task

    named = task_named(against)
    return load_task(named) if isinstance(named, TaskFile) else tasks.get(named)


def _against(rule: Rule, columns: Mapping[str, Domain], task: Task, length: int) -> Certificate:
    """The program beside what was meant, on the domain that the model was asked for."""
    machine = rule.recurrence
    if len(task.columns) != len(machine.inputs) or len(task.outputs) != len(machine.outputs):
        raise InputError(
            f"{task.name} has {len(task.columns)} columns and {len(task.outputs)} outputs, the model "
            f"{len(machine.inputs)} and {len(machine.outputs)}; name another task for --against."
        )
    return certify(
        machine,
        reference=task.specification,
        domains=tuple(columns.values()),
        length=length,
        integer_outputs=rule.program.integer_outputs,
    )
