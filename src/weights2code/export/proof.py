"""What was proved about a run, for anybody to check: machines beside `check.py`, and questions for any
solver.

`check.py` is the kernel's own file (`kernel.closing`): it needs the standard library alone, executes
`program.py`, and takes a network's weights from their file, number by number. Proofs by induction are files
of SMT-LIB 2.6, each of which a solver must answer with `unsat`; where states are few, what was closed is
written so, too.
"""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from math import frexp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem
from weights2code.graph.machine import machine_of
from weights2code.kernel import claims as kernel
from weights2code.kernel import closing
from weights2code.kernel.closing import Unsuited, Written, close
from weights2code.language import Expr, Recurrence, op
from weights2code.language.machine_text import machine_text
from weights2code.language.sums import Unwritten
from weights2code.recheck import certified_again
from weights2code.results import read_run
from weights2code.run_folder import MODEL, PROGRAM, TAUGHT, RunFolder, write_atomically

if TYPE_CHECKING:
    from weights2code.training.storage import Trained

#: States that are written as questions, at most.
MOST_STATES = 40
#: A weight is told by its number, as digits of what stands for it.
_CODE = 2.0**45
README = """\
What was proved about {name}, to be checked without weights2code.

    python check.py             closes the states of every claim in claims.json again (standard library alone;
                                the program itself needs NumPy)
    z3 FILE, cvc5 FILE          for every file of obligations/: the answer must be `unsat`

{claims}
"""


@dataclass(frozen=True, slots=True)
class ClaimFiles:
    """A claim of a run as files: what it says, whether it is closed by `check.py`, and its questions."""

    name: str
    sentence: str
    closed: bool
    questions: int


def write_proof(folder: RunFolder, problem: Problem, out: Path) -> list[ClaimFiles]:
    """Check again what a run folder claims, and write what was proved into a folder of its own."""
    found, _ = certified_again(read_run(folder), problem, folder)
    certificate = found.certificate
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / PROGRAM, folder.read_text(PROGRAM).encode())
    write_atomically(out / "check.py", checker().encode())
    links = (("network", certificate.network, MODEL), ("taught", certificate.taught, TAUGHT))
    named = [("program", certificate.proof, None, 0)]
    named += [(name, of.proof, file, of.member or 0) for name, of, file in links if of is not None]
    made, closed, lines = [], [], []
    for name, proof, file, member in named:
        if isinstance(proof, kernel.Proved):
            link = _Link(name, proof, folder, problem, out, file, member if file == MODEL else 0)
            entry, questions, sentence = link.closed(), link.questions(), link.sentence()
            closed += [] if entry is None else [{"claim": sentence, **entry}]
            made.append(ClaimFiles(name, sentence, entry is not None, questions))
            asked = f"{questions} questions in obligations/" if questions else "no questions"
            lines.append(f"{name}: {sentence}; {'not ' * (entry is None)}closed by check.py; {asked}")
    write_atomically(out / "claims.json", (json.dumps({"claims": closed}, indent=1) + "\n").encode())
    text = README.format(name=found.program.name, claims="\n".join(lines) or "Nothing was proved.")
    write_atomically(out / "README.txt", text.encode())
    return made


def checker() -> str:
    """The text of `check.py`: the kernel's own, without blank lines."""
    return "\n".join(line for line in inspect.getsource(closing).splitlines() if line.strip()) + "\n"


@dataclass(frozen=True, slots=True)
class _Link:
    """What was proved of one link, and where its files are: `file` holds the network, if it is about one."""

    name: str
    proof: kernel.Proved
    folder: RunFolder
    problem: Problem
    out: Path
    file: str | None
    member: int

    def sentence(self) -> str:
        """What the claim says."""
        proof, what = self.proof, "the program computes its specification"
        if self.file:
            what = "the network rounds to the program's outputs"
        elif proof.error:
            what += f", off by at most {float(proof.error):.3g}"
        length = "every length" if proof.length is None else f"lengths 1 to {proof.length}"
        domains = ", ".join(dict.fromkeys(map(str, proof.claim.domains)))
        return f"at {length}, for inputs in {domains}, {what} ({proof.words})"

    def closed(self) -> dict[str, Any] | None:
        """The claim as `check.py` reads it, with the machines that it names; None if it was not closed, or
        its other side is a plain function."""
        claim, proposal = self.proof.claim, self.proof.certificate
        if not isinstance(proposal, kernel.Closure) or self.proof.length is not None:
            return None
        left, right = (self._machine(side, proposal) for side in (claim.left, claim.right))
        if left is None or right is None:
            return None
        domains = [[int(domain.low), int(domain.high)] for domain in claim.domains]
        about = {"domains": domains, "near": str(self.proof.error), "transitions": proposal.transitions}
        return {**about, "left": left, "right": right}

    def _machine(self, machine: Any, proposal: kernel.Closure) -> dict[str, Any] | None:
        if isinstance(machine, kernel.ProgramText):
            file = PROGRAM if not self.problem.hidden or not self.file else "program_and_state.py"
            if file != PROGRAM:
                write_atomically(self.out / file, machine.source.encode())
            kinds = {"inputs": list(machine.categories), "outputs": list(machine.output_categories)}
            return {"kind": "text", "file": file, **(kinds if any(machine.categories) else {})}
        if isinstance(machine, kernel.Specification):
            write_atomically(self.out / "specification.py", machine_text(machine.machine.live()).encode())
            return {"kind": "machine", "file": "specification.py"}
        if not isinstance(machine, kernel.Network) or self.file is None:
            return None
        shutil.copyfile(self.folder.file(self.file), self.out / self.file)
        coded = _Coded(self.folder.file(self.file), self.problem, self.member)
        text = machine_text(coded.machine(), floats=True, windows=proposal.windows, weight=coded.weight)
        write_atomically(self.out / f"{self.name}.py", text.encode())
        made = {"kind": "machine", "file": f"{self.name}.py", "weights": self.file}
        return {**made, "places": coded.places, "choices": coded.choices()}

    def questions(self) -> int:
        """Write the questions of the claim; how many there are."""
        found = self._inductive()
        if found is None:
            return 0
        target = self.out / "obligations"
        target.mkdir(exist_ok=True)
        number = 0
        for number, question in enumerate(kernel.obligations(*found), start=1):
            write_atomically(target / f"{self.name}_{number}.smt2", question.text().encode())
        return number

    def _inductive(self) -> tuple[kernel.Claim, kernel.Inductive] | None:
        """The proof by induction; of few states that were closed, the one that says that these are all."""
        proposal = self.proof.certificate
        if isinstance(proposal, kernel.Inductive):
            return self.proof.claim, proposal
        if not isinstance(proposal, kernel.Closure) or self.proof.length is not None:
            return None
        claim = self.proof.claim if self.file else replace(self.proof.claim, eps=Fraction(0))
        try:
            invariant = tuple(_one_of(claim))
        except (Unsuited, Unwritten, ArithmeticError, ValueError):
            return None
        found = kernel.Inductive(invariant, 1)
        return None if isinstance(kernel.check(claim, found), kernel.Rejected) else (claim, found)


def _one_of(claim: kernel.Claim) -> Iterator[Expr]:
    """The states of both machines, in exact numbers, as one statement: it is this one, or that one, ..."""
    machine = claim.joint().machine
    alone = Written(machine_text(replace(machine, outputs=())))
    rows = kernel.rows_of(claim.domains)
    found = close(alone, alone, rows, Fraction(0), (MOST_STATES + 1) * len(rows))
    variables = machine.state()
    if found.outcome != "closed" or len(found.states) > MOST_STATES:
        raise Unsuited("there are too many states")
    if variables:
        pairs = [list(zip(variables, state, strict=True)) for state, _ in found.states]
        alike = [[variable.equals(value) for variable, value in pair] for pair in pairs]
        yield reduce(partial(op, "or"), [reduce(partial(op, "and"), parts) for parts in alike])


class _Coded:
    """A network whose weights are replaced by numbers that say where in their file they stand."""

    def __init__(self, file: Path, problem: Problem, member: int) -> None:
        from weights2code.training.storage import Trained

        self.trained: Trained = Trained.load(file, problem)
        self.problem, self.member = problem, member
        self.places: list[list[Any]] = []

    def machine(self) -> Recurrence:
        """The same machine with such numbers for weights."""
        from weights2code.extraction.members import whole_graph

        coded = self.trained.weights.double()
        for name, values in coded.parameters.items():
            if name == "choices":
                continue
            own = values[self.member].reshape(-1)  # a view
            for place in np.flatnonzero(own).tolist():
                self.places.append([f"model.{name}", self.member * own.size + place])
                own[place] = 1.0 + len(self.places) / _CODE
        trained = replace(self.trained, weights=coded)
        graph = whole_graph(trained, self.member, self.problem)
        made = machine_of(graph, whole=self.problem.integer_outputs)
        return replace(made, outputs=tuple(f"{name}.raw" for name in made.outputs))

    def weight(self, value: float) -> str | None:
        """A constant that stands for a weight, times a power of two; None if it is none."""
        mantissa, exponent = frexp(value)
        number = (2 * mantissa - 1.0) * _CODE
        if not number.is_integer() or not 0 < number <= len(self.places):
            return None
        text = f"w[{int(number) - 1}]"
        return text if exponent == 1 else f"({text} * {2.0 ** (exponent - 1)!r})"

    def choices(self) -> list[list[Any]]:
        """Of every choice the options that it has, by their places in the file, and the one that it makes."""
        weights = self.trained.weights
        chosen = weights.hard_choices()[self.member].tolist()
        _, rows, options = weights.parameters["choices"].shape
        allowed = weights.masks["choice_mask"][self.member].tolist()
        first = self.member * rows * options
        return [
            ["model.choices", [first + row * options + i for i in range(options) if allowed[row][i]],
             first + row * options + chosen[row]]
            for row in range(rows)
        ]  # fmt: skip
