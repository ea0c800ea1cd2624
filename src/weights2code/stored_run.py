"""What a complete run folder holds, read back. Nothing is executed: programs are rebuilt from JSON."""

from __future__ import annotations

from dataclasses import dataclass

from weights2code.errors import InputError
from weights2code.explain.operators import OperatorFit
from weights2code.extraction.attempt import Attempt
from weights2code.graph import DiscreteGraph
from weights2code.graph import from_dict as graph_from_dict
from weights2code.program import Program
from weights2code.run_folder import CERTIFICATE, GRAPH, PROGRAM, RunFolder
from weights2code.verify import Certificate


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
