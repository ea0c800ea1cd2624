"""The driver, from a model to its program and verdict; it reads as the table of contents.

model -> how it is asked -> rule, departures fed back -> hunt -> verdict -> files
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weights2code.data import from_arrays
from weights2code.decompilation.hosts import Apart, Host, Own
from weights2code.decompilation.learning import Learner
from weights2code.decompilation.model import QUERIES, Asking, Model, introduced
from weights2code.decompilation.proofs import proved
from weights2code.decompilation.regions import Region
from weights2code.decompilation.verdict import ModelCertificate, judged
from weights2code.effort import within
from weights2code.errors import InputError
from weights2code.language import Domain, Recurrence
from weights2code.program import Program
from weights2code.report.svg import plural
from weights2code.tasks.task import Task, read_columns
from weights2code.verify import Certificate, certify, certify_on_data
from weights2code.verify.hunt import Departure
from weights2code.verify.own_data import Allowed

#: Seconds that a decompilation may take unless told.
SECONDS = 300.0
#: Sequences of the model's own length that a program without a task is certified on, and the share of outputs
#: that may be mistakes of the model.
CERTIFIED, MISTAKES = 300, 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Decompiled:
    """What came of a model.

    Attributes
    ----------
    program : what it computes; None if no search found anything.
    model : the verdict on the model, with where it departs.
    certificate : of the program, against the task that was named, else against answers of the model.
    message, seconds : what came of it in a sentence, and how long it took.
    task : the name of the task.
    rule_seconds, rule_queries, states : what the rule took, and of a finite machine its states.
    """

    program: Program | None
    model: ModelCertificate | None
    certificate: Certificate | None
    message: str
    seconds: float
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
    def against(self) -> Certificate | None:
        """The certificate of the program against the task, if one was named."""
        return self.certificate if self.task else None

    @property
    def agreement(self) -> dict[int, float]:
        """Of random sequences of each length, the share that agrees at every position."""
        return {} if self.model is None else {n: share for n, (share, _) in self.model.agreement.items()}

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
    began = time.perf_counter()
    asking = Asking(length, longest, read, at, one_hot, time_first, queries, seed)
    with _asked(model, inputs, asking, against, time_limit, say) as (asked, task):
        learner = Learner(asked, _name(model), say)
        rule = learner.best()
        if rule is None:
            return Decompiled(None, None, None, "no program was found", time.perf_counter() - began)
        spent = {
            "rule_seconds": time.perf_counter() - began,
            "rule_queries": asked.queries,
            "states": learner.states,
        }
        rule = learner.worded()
        others = tuple("; ".join(other.program.formula().splitlines()) for other in learner.others())
        say("looking for departures")
        return replace(_judged(rule.program, asked, model, task, began, others), **spent)


def again(
    program: Program,
    model: str,
    inputs: Mapping[str, Domain | tuple[float, float]],
    asking: Asking,
    against: str | None,
    time_limit: float = SECONDS,
    say: Callable[[str], None] = lambda _: None,
) -> Decompiled:
    """The verdict on a model and a program that is known: the model is asked anew."""
    began = time.perf_counter()
    with _asked(model, inputs, asking, against, time_limit, say) as (asked, task):
        if asked.outputs != program.recurrence.outputs or tuple(inputs) != program.recurrence.inputs:
            raise InputError(f"the program has other columns than {model}.")
        return _judged(program, asked, model, task, began)


def _check_same_shape(task: Task | None, columns: int, outputs: int) -> None:
    if task is not None and (len(task.columns), len(task.outputs)) != (columns, outputs):
        has = f"{plural(len(task.columns), 'column')} and {plural(len(task.outputs), 'output')}"
        raise InputError(
            f"{task.name} has {has}, the model {columns} and {outputs}; name another task for --against."
        )


@contextmanager
def _asked(
    model: Any,
    inputs: Mapping[str, Domain | tuple[float, float]],
    asking: Asking,
    against: Task | str | None,
    time_limit: float,
    say: Callable[[str], None],
) -> Iterator[tuple[Model, Task | None]]:
    """The model as it can be asked, until nobody asks it any more, and the task that was meant."""
    columns, task = read_columns(inputs), _task(against)
    host = host_of(model)
    try:
        with within(time_limit):
            asked = introduced(host, columns, asking)
            for line in asked.found_out:
                say(line)
            _check_same_shape(task, len(columns), len(asked.outputs))
            yield asked, task
    finally:
        host.close()


def _judged(
    program: Program, model: Model, given: Any, task: Task | None, began: float, others: tuple[str, ...] = ()
) -> Decompiled:
    """The verdict on a program of a model."""
    machine, whole = program.recurrence, program.integer_outputs
    verdict = proved(judged(machine, model, began, others), given, machine, model)
    if task is None:
        x = model.some(CERTIFIED)
        allowed = Allowed(whole, MISTAKES) if whole else Allowed(whole, noise=model.reading.tolerance)
        certificate = certify_on_data(machine, from_arrays(x, model(x)[0]), allowed, seed=model.asking.seed)
    else:
        certificate = _against(machine, model, task, integer_outputs=whole)
    message = verdict.explain()
    program = program.with_verdict(message)
    name = "" if task is None else task.name
    return Decompiled(program, verdict, certificate, message, time.perf_counter() - began, name)


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


def _task(against: Task | str | None) -> Task | None:
    """The task that a program is compared with."""
    if against is None or isinstance(against, Task):
        return against
    from weights2code import tasks
    from weights2code.source import task_named
    from weights2code.tasks.task_file import TaskFile, load_task

    named = task_named(against)
    return load_task(named) if isinstance(named, TaskFile) else tasks.get(named)


def _against(machine: Recurrence, model: Model, task: Task, *, integer_outputs: bool) -> Certificate:
    """The program beside what was meant, on the domain that the model was asked for."""
    length, domains = model.asking.length, model.domains
    return certify(
        machine, reference=task.specification, domains=domains, length=length, integer_outputs=integer_outputs
    )
