"""What a run ends with, and how it is left in the run folder and read back.

Reading executes nothing: programs are rebuilt from JSON, and the text is compared with what they print.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.explain.operators import OperatorFit
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.values import Extraction
from weights2code.graph import DiscreteGraph
from weights2code.graph import from_dict as graph_from_dict
from weights2code.graph import to_dict as graph_to_dict
from weights2code.program import Program, run_program
from weights2code.program.raw_program import raw_program_source
from weights2code.run_folder import CERTIFICATE, GRAPH, LATEX, PROGRAM, PROGRAM_RAW, RunFolder
from weights2code.verify import Certificate

if TYPE_CHECKING:
    from weights2code.training.search import Trained


#: Sequences that the text of a program is run on, of validation and fresh.
COMPARED = 20


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The end of a run; `exit_code` is the command's."""

    extraction: Extraction | None
    trained: Trained | None
    attempts: tuple[Attempt, ...]
    seconds: float
    #: Of them, what all rungs took to train; None if this outcome trained none.
    training_seconds: float | None = None

    @property
    def program(self) -> Program | None:
        return self.extraction.program if self.extraction else None

    @property
    def certificate(self) -> Certificate | None:
        return self.extraction.certificate if self.extraction else None

    @property
    def exit_code(self) -> int:
        if self.extraction is None:
            return 3
        return 0 if self.extraction.certificate.verified else 1

    @property
    def message(self) -> str:
        if self.extraction is None:
            return "no program could be extracted; " + (
                str(self.attempts[-1]) if self.attempts else "nothing was tried"
            )
        return self.extraction.certificate.explain()


def leave_files(outcome: Outcome, problem: Problem, folder: RunFolder) -> None:
    """Write the files of the later stages but for the report; the certificate comes last."""
    extraction = outcome.extraction
    if extraction is None:
        return
    stored_graph = graph_to_dict(extraction.graph)
    if extraction.explained is not None:
        stored_graph["formulas"] = {
            index: fit.to_dict() for index, fit in extraction.explained.operators.items()
        }
    folder.write(GRAPH, json.dumps(stored_graph) + "\n")
    if extraction.explained is not None:
        folder.write(PROGRAM_RAW, raw_program_source(extraction.explained, problem))
    folder.write(PROGRAM, extraction.program.source())
    folder.write(LATEX, extraction.program.latex())
    folder.write_json(CERTIFICATE, certificate_dict(extraction, outcome.attempts))


def certificate_dict(extraction: Extraction, attempts: tuple[Attempt, ...] = ()) -> dict[str, Any]:
    """`certificate.json`: the certificate, and the program that it is about."""
    program = extraction.program
    length = {"lines": program.lines, "body": program.body, "operations": program.operations}
    return {
        **extraction.certificate.to_dict(),
        "formula": program.formula(),
        "origin": program.how,
        "program_length": length,
        "program": program.to_dict(),
        "attempts": [attempt.to_dict() for attempt in attempts],
    }


@dataclass(frozen=True, slots=True, eq=False)
class StoredRun:
    """The graph, the program, and how it was judged.

    `formulas` are those of the graph's operators; None if the graph was not explained.
    """

    graph: DiscreteGraph
    formulas: dict[int, OperatorFit] | None
    program: Program
    certificate: Certificate
    attempts: tuple[Attempt, ...]


def read_run(folder: RunFolder) -> StoredRun:
    """Rebuild graph, program and certificate from a run folder."""
    for name in (GRAPH, CERTIFICATE, PROGRAM):
        if not folder.has(name):
            raise InputError(f"{folder.path} has no {name}; make it with `w2c extract {folder.path}`.")
    try:
        graph, data = folder.read_json(GRAPH), folder.read_json(CERTIFICATE)
        return StoredRun(
            graph_from_dict(graph),
            {int(index): OperatorFit.from_dict(item) for index, item in graph["formulas"].items()}
            if "formulas" in graph
            else None,
            Program.from_dict(data["program"]),
            Certificate.from_dict(data),
            tuple(Attempt.from_dict(item) for item in data["attempts"]),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"the files in {folder.path} are damaged ({error}); they were left untouched."
        ) from None


def stored(folder: RunFolder) -> Outcome:
    """The outcome of a run that is complete already."""
    found = read_run(folder)
    if folder.file(PROGRAM).read_bytes() != found.program.source().encode():
        raise InputError(
            f"{folder.file(PROGRAM)} is not what the run wrote there; make it again with "
            f"`w2c extract {folder.path}`, or check it with `w2c verify {folder.path}`."
        )
    extraction = Extraction(found.graph, None, found.program, found.certificate)
    return Outcome(extraction, None, found.attempts, 0.0)


def text_problems(path: Path, program: Program, problem: Problem) -> str:
    """Why a text is not the program: it does not pass the check, or computes something else."""
    rng = np.random.default_rng(0)
    batches = [problem.validation.x[:COMPARED]]
    if problem.sampler is not None:
        batches.append(problem.sampler(rng, COMPARED, 4 * problem.length))
    columns = len(problem.inputs)
    for x in batches:
        sequences = [item[:, 0] if columns == 1 else item for item in x]
        try:
            answers = run_program(path, sequences)
        except Exception as error:  # whatever a foreign text does, it is a verdict and not a crash
            return str(error)
        expected = [program.run(item) for item in x]
        for answer, right in zip(answers, expected, strict=True):
            if not np.allclose(np.asarray(answer), right, rtol=1e-9, atol=1e-9, equal_nan=True):
                return "its outputs differ from the formula's"
    return ""
