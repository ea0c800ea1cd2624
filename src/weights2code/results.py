"""What a run ends with, and how it is left in the run folder and read back.

Reading executes nothing: programs are rebuilt from JSON, and the text is compared with what they print.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weights2code.data import Problem
from weights2code.errors import InputError, NotExtracted, Reason
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import OperatorFit
from weights2code.extraction.alternatives import Alternative
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.values import Extraction
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.graph import from_dict as graph_from_dict
from weights2code.graph import to_dict as graph_to_dict
from weights2code.json_values import items, mapping
from weights2code.program import Program
from weights2code.program.listing import listing_source
from weights2code.run_folder import CERTIFICATE, GRAPH, LATEX, MODEL, PROGRAM, PROGRAM_RAW, TAUGHT, RunFolder
from weights2code.verify import Certificate
from weights2code.verify.links import at_most

if TYPE_CHECKING:
    from weights2code.training.storage import Trained


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The end of a run; `exit_code` is the command's."""

    extraction: Extraction | None
    trained: Trained | None
    attempts: tuple[Attempt, ...]
    seconds: float
    #: Of them, what all rungs took to train; None if this outcome trained none.
    training_seconds: float | None = None
    #: The network that was made for the rule, if the trained one would not do.
    taught: Trained | None = None
    #: Why files of its folder do not belong together; empty if they do.
    broken: str = ""
    #: What else may be said about the data, if no program was verified.
    hints: tuple[str, ...] = ()
    #: The chosen rule among others, if these were asked for.
    alternatives: tuple[Alternative, ...] = ()

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
        return 0 if self.extraction.certificate.verified and not self.broken else 1

    @property
    def message(self) -> str:
        if self.extraction is None:
            last = self.attempts[-1] if self.attempts else None
            if last is not None and last.reason is Reason.NOT_EVIDENT:
                return last.detail
            return f"no program could be extracted; {last.brief() if last else 'nothing was tried'}"
        return self.broken or self.extraction.certificate.explain()


def in_short(certificate: Certificate) -> str:
    """What the verdict says of the program, for people who want to use it; how that was found out stands in
    the certificate's `method`."""
    target, rows = certificate.target, certificate.rows
    where = f", for inputs in {', '.join(dict.fromkeys(certificate.domain))}" if certificate.domain else ""
    error = at_most(certificate.error or 0.0)
    known = {
        "proved": "equal to its specification at every length",
        "bounded": f"never more than {error} from its specification, at any length",
        "exhaustive": f"right on every input sequence, {certificate.covers}",
    }
    if certificate.verdict in known:
        return known[certificate.verdict] + where
    ran = f"{target.sequences} sequences that were made for the test"
    if not certificate.domain:
        part = "a part" if target.sequences == 1 else f"{target.sequences} sequences"
        ran = f"{part} kept back for the test"
    if rows and rows.right is not None:
        every = rows.judged == rows.of
        judged = f"{rows.judged} rows" if every else f"the {rows.judged} rows that can be judged"
        said = f"right in {rows.right} of {judged}; {ran} took no part in finding it"
    elif target.accuracy is not None:
        said = f"right at {100 * target.accuracy:.6g} % of the positions of {ran}"
    else:
        said = f"off by {target.max_abs_error:.3g} at most and {target.rmse:.3g} as a rule in {ran}"
    said += ", where it was given the true past outputs" * certificate.one_step
    if certificate.verdict == "tested":
        return f"{said}; tested, not proved"
    after = certificate.counterexample
    found = f"after {len(after)} input{'s' * (len(after) != 1)}" if after else "too often"
    return f"wrong {found}; {said}"


def network_in_short(certificate: Certificate) -> str:
    """What the network that was made right computes; empty if none was looked at."""
    network = certificate.taught or certificate.network
    if network is None:
        return ""
    error = at_most(network.error or 0.0)
    return {
        "proved": "the same, proved",
        "exhaustive": f"the same {network.covers}",
        "bounded": f"within {error} of it, proved for one step",
        "tested": f"within {error} of it in {network.sequences} tests",
        "differs": "something else",
    }[network.verdict]


def leave_files(outcome: Outcome, problem: Problem, folder: RunFolder) -> None:
    """Write the files of the later stages but for the report; the certificate comes last."""
    extraction = outcome.extraction
    if extraction is None:
        return
    if outcome.taught is not None:
        outcome.taught.save(folder.file(TAUGHT))
    else:
        folder.file(TAUGHT).unlink(missing_ok=True)
    stored_graph = graph_to_dict(extraction.graph)
    if extraction.certificate.network is not None:
        stored_graph["network"] = TAUGHT if outcome.taught else MODEL
    if extraction.explained is not None:
        stored_graph["formulas"] = {
            index: fit.to_dict() for index, fit in extraction.explained.operators.items()
        }
    folder.write(GRAPH, json.dumps(stored_graph) + "\n")
    with suppress(NotExtracted):  # in `concat`, what cannot be re-indexed has no listing
        explained = extraction.explained or ExplainedGraph(extraction.graph, {}, {})
        folder.write(PROGRAM_RAW, listing_source(explained, problem))
    folder.write(PROGRAM, extraction.program.source())
    folder.write(LATEX, extraction.program.latex())
    folder.write_json(CERTIFICATE, certificate_dict(extraction, outcome.attempts, outcome.alternatives))


def certificate_dict(
    extraction: Extraction, attempts: tuple[Attempt, ...] = (), others: tuple[Alternative, ...] = ()
) -> dict[str, Any]:
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
        **({"alternatives": [other.to_dict() for other in others]} if others else {}),
    }


@dataclass(frozen=True, slots=True, eq=False)
class StoredRun:
    """The graph, the program, and how it was judged, as the files say it.

    `formulas` are those of the graph's operators; None if the graph was not explained.
    """

    graph: DiscreteGraph
    formulas: dict[int, OperatorFit] | None
    program: Program
    certificate: Certificate
    attempts: tuple[Attempt, ...]
    alternatives: tuple[Alternative, ...] = ()

    def checkable(self) -> StoredRun:
        """Without what only the run itself knows: how the rule was found, and how the networks were made."""
        certificate = self.certificate.checkable()
        program = replace(self.program, origin="", verdict=certificate.words())
        return replace(self, program=program, certificate=certificate, attempts=(), alternatives=())

    def to_dict(self) -> dict[str, Any]:
        """`certificate.json` as the run wrote it."""
        program = self.program.with_verdict(self.certificate.words())
        extraction = Extraction(self.graph, None, program, self.certificate)
        return certificate_dict(extraction, self.attempts, self.alternatives)


def read_run(folder: RunFolder) -> StoredRun:
    """Rebuild graph, program and certificate from a run folder."""
    with _reading(folder, GRAPH, CERTIFICATE, PROGRAM):
        graph, data = folder.read_json(GRAPH), folder.read_json(CERTIFICATE)
        found = graph_from_dict(graph)
        return StoredRun(
            found,
            _formulas(graph["formulas"], found) if "formulas" in graph else None,
            Program.from_dict(mapping(data, "a certificate")["program"]),
            Certificate.from_dict(data),
            tuple(Attempt.from_dict(item) for item in items(data["attempts"], "the attempts")),
            tuple(map(Alternative.from_dict, items(data.get("alternatives", []), "the alternatives"))),
        )


def read_program(folder: RunFolder) -> tuple[Program, Certificate]:
    """The program of a run folder and its certificate, without the network that it was read from."""
    with _reading(folder, CERTIFICATE):
        data = mapping(folder.read_json(CERTIFICATE), "a certificate")
        return Program.from_dict(data["program"]), Certificate.from_dict(data)


@contextmanager
def _reading(folder: RunFolder, *names: str) -> Iterator[None]:
    """What is missing, or cannot be read, in one sentence."""
    for name in names:
        if not folder.has(name):
            raise InputError(f"{folder.path} has no {name}; make it with `w2c extract {folder.path}`.")
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(
            f"the files in {folder.path} are damaged ({error}); they were left untouched."
        ) from None


def _formulas(data: Any, graph: DiscreteGraph) -> dict[int, OperatorFit]:
    """The formula of each operator, of nodes that come before it."""
    found = {int(index[:9]): OperatorFit.from_dict(item) for index, item in mapping(data, "formulas").items()}
    for index, fit in found.items():
        if not 0 <= index < len(graph.nodes) or not isinstance(graph.nodes[index], OperatorNode):
            raise ValueError(f"a formula is given for {index}, which is no operator")
        if not all(operand < index for operand in fit.operands):
            raise ValueError(f"the formula of {index} reads what is not computed before it")
    return found
