"""What a run folder claims, checked again: nothing but its recurrence and its graph is taken from there.

A folder may have been edited, or come from somebody else. What the columns are and may hold comes from the
task or the file, the verdict from a new proof or test, and `program.py` must be the text of the recurrence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weights2code.data import Problem, Regime
from weights2code.errors import InputError, NotExtracted
from weights2code.explain.explanation import ExplainedGraph, stream_values
from weights2code.explain.operators import formula_problems
from weights2code.extraction.judge import certificate_of
from weights2code.extraction.members import whole_graph
from weights2code.extraction.values import Extraction
from weights2code.graph import DiscreteGraph
from weights2code.json_values import shown
from weights2code.language import Recurrence
from weights2code.language.categories import in_words
from weights2code.language.python_source import identifier
from weights2code.network.certify import certify_network
from weights2code.program import Program, check_source, run_program
from weights2code.program.listing import listing_source
from weights2code.program.listing_check import check_listing, listing_problems
from weights2code.program.same_text import first_difference
from weights2code.results import StoredRun
from weights2code.run_folder import CERTIFICATE, GRAPH, MODEL, PROGRAM, PROGRAM_RAW, TAUGHT, RunFolder
from weights2code.verify import Certificate
from weights2code.verify.links import Listing, NetworkCertificate, Offered

if TYPE_CHECKING:
    from weights2code.training.storage import Trained

#: Sequences that the text of a program is run on, of validation and fresh.
COMPARED = 20


def certified_again(found: StoredRun, problem: Problem, folder: RunFolder) -> tuple[Extraction, str]:
    """The program of a run folder with a new certificate, and why its files do not belong together, if so.

    Of the program only its recurrence is taken from there, and networks are what their weights are. How they
    came about only the run knew: nothing is said of that.
    """
    given, problem = problem, problem_of_run(found, problem, folder)
    refused = check_source(found.program.source())
    if refused:
        raise InputError(f"the recurrence in {folder.file(CERTIFICATE)} gives no program: {refused[0]}.")
    found = found.checkable()
    whole = with_hidden(found.program.recurrence, problem, folder)
    model, made = (weights_in(folder, name, problem) for name in (MODEL, TAUGHT))
    place = model and place_in(model, found.certificate.network, folder)
    trained = None if model is None or place is None else whole_graph(model, place, problem)
    taught = made and whole_graph(made, 0, problem)
    meant, seed = taught or trained, folder.settings.seed
    claimed = found.certificate
    network, own = (
        one and certify_network(one, whole, problem, seed, offered(said)).certificate
        for one, said in ((trained, claimed.network), (taught, claimed.taught))
    )
    program = offered(claimed)
    proposal = None if program is None else program.proposal()
    certificate = replace(
        certificate_of(whole, trained or found.graph, problem, seed, proposal),
        network=network and replace(network, member=place),
        taught=own,
        listing=listing_again(meant or found.graph, problem, folder),
        model_fits=None,
    )
    extraction = Extraction(found.graph, None, found.program.with_verdict(certificate.words()), certificate)
    wrong = run_problems(extraction.program, problem)
    if wrong:
        extraction = judged_otherwise(extraction, f"its text is not its formula: {wrong}")
    return extraction, link_problems(meant, found, given, folder)


def offered(claimed: Certificate | NetworkCertificate | None) -> Offered | None:
    """What a certificate of the folder offers to the kernel."""
    return claimed.proof if claimed is not None and isinstance(claimed.proof, Offered) else None


def judged_otherwise(extraction: Extraction, method: str) -> Extraction:
    """The same program, which failed for another reason."""
    certificate = replace(extraction.certificate, verdict="failed", method=method)
    program = extraction.program.with_verdict(certificate.words())
    return replace(extraction, program=program, certificate=certificate)


def listing_again(network: DiscreteGraph, problem: Problem, folder: RunFolder) -> Listing | None:
    """The listing of the folder run beside the network again; None if there is none that runs."""
    if not folder.has(PROGRAM_RAW):
        return None
    try:
        return check_listing(folder.read_text(PROGRAM_RAW), network, problem, folder.settings.seed)
    except InputError:
        return None  # `link_problems` says why


def weights_in(folder: RunFolder, name: str, problem: Problem) -> Trained | None:
    """What a file of weights holds; None if it is not there."""
    if not folder.has(name):
        return None
    from weights2code.training.storage import Trained

    return Trained.load(folder.file(name), problem)


def place_in(model: Trained, claimed: NetworkCertificate | None, folder: RunFolder) -> int | None:
    """The member that the certificate speaks of; None if it speaks of none."""
    place = claimed and claimed.member
    if place is not None and place >= len(model.losses):
        raise InputError(f"{CERTIFICATE} in {folder.path} speaks of a member that {MODEL} does not have.")
    return place


def link_problems(
    network: DiscreteGraph | None, found: StoredRun, problem: Problem, folder: RunFolder
) -> str:
    """Why weights, graph and listing of a folder do not belong together; empty if they do."""
    claims = found.certificate
    if claims.taught is not None and not folder.has(TAUGHT):
        return f"{TAUGHT} is missing"
    if network is None:  # folders of older versions do not say which network it was
        return f"{MODEL} does not hold the network that the program was read from" if claims.network else ""
    place = first_other_node(network, found.graph)
    if place:
        return f"{TAUGHT if folder.has(TAUGHT) else MODEL} is not the network in {GRAPH}: {place}"
    formulas = found.formulas or {}
    wrong = formula_problems(found.graph, formulas, stream_values(found.graph, problem.validation))
    if wrong:
        return f"{GRAPH} is not what the run wrote: {wrong}"
    explained = ExplainedGraph(found.graph, {}, formulas)
    try:
        listing_source(explained, problem)
    except NotExtracted:
        return ""  # in `concat`, what cannot be re-indexed has no listing
    if not folder.has(PROGRAM_RAW):
        return f"{PROGRAM_RAW} is missing"
    wrong = listing_problems(folder.read_text(PROGRAM_RAW), explained, problem)
    return f"{PROGRAM_RAW} is not the listing of the network: {wrong}" if wrong else ""


def first_other_node(one: DiscreteGraph, other: DiscreteGraph) -> str:
    """The first part of two networks that matters and is not the same; empty if there is none."""
    if len(one.nodes) != len(other.nodes) or one.live() != other.live() or one.layout != other.layout:
        return "they do not have the same nodes"
    if not np.array_equal(one.head, other.head):
        return "the output head is another"
    for index in one.live():
        a, b = one.nodes[index], other.nodes[index]
        if type(a) is not type(b):
            return f"{a.name} is something else"
        for name in a.__slots__:
            if not np.array_equal(getattr(a, name), getattr(b, name)):
                return f"{name} of {a.name} is another"
    return ""


def problem_of_run(found: StoredRun, problem: Problem, folder: RunFolder) -> Problem:
    """The problem under the regime of a program that was read; a program of another problem is refused.

    What columns there are and what they may hold is the task's or the file's to say. A certificate that says
    otherwise would have a proof speak about other inputs than the text was written for.
    """
    program, graph = found.program, found.graph
    regimes = {Regime.EXACT}
    if problem.reference is None:
        regimes |= {Regime.NOISY, problem.asked.inexact() or Regime.EXACT}
    taken = problem.under(program.regime)
    pairs = {
        "regime": (program.regime, program.regime if program.regime in regimes else Regime.EXACT),
        "name": (program.name, identifier(problem.name)),
        "inputs": (program.recurrence.inputs, problem.inputs),
        "outputs": (program.recurrence.outputs, problem.asked.outputs),
        "domains": (program.domains, problem.domains),
        "integer_outputs": (program.integer_outputs, taken.integer_outputs),
        "categories of outputs": (
            tuple(program.output_categories.items()),
            tuple(problem.asked.output_categories.items()),
        ),
        "truth values": (tuple(sorted(program.truths)), tuple(sorted(_truths(problem.asked)))),
        "inputs of the graph": (graph.inputs, problem.inputs),
        "outputs of the graph": (graph.outputs, problem.outputs),
        "length of the graph": (graph.length, problem.length),
    }
    for what, (there, right) in pairs.items():
        if there != right:
            raise InputError(
                f"{what} in {folder.path} ({_words(there)}) and of {problem.name} ({_words(right)}) are not "
                f"the same; make the program again with `w2c extract {folder.path}`."
            )
    return taken


def _truths(problem: Problem) -> tuple[str, ...]:
    inputs = zip(problem.inputs, problem.domains, strict=True)
    return (*problem.output_truths, *(name for name, domain in inputs if domain.truths))


def with_hidden(program: Recurrence, problem: Problem, folder: RunFolder) -> Recurrence:
    """The program with what is hidden as outputs too, as its network has them."""
    missing = set(problem.hidden) - {step.name for step in program.steps}
    if missing:
        raise InputError(
            f"the program in {folder.path} does not compute {min(missing)}, which its network does; make it "
            f"again with `w2c extract {folder.path}`."
        )
    return replace(program, outputs=problem.outputs)


def _words(value: Any) -> str:
    return shown(", ".join(str(item) for item in value) if isinstance(value, tuple) else str(value))


def check_written(folder: RunFolder, program: Program) -> None:
    """Refuse a `program.py` that is not, to the letter, what the run wrote."""
    if folder.read_text(PROGRAM) != program.source():
        raise InputError(
            f"{folder.file(PROGRAM)} is not what the run wrote there; make it again with "
            f"`w2c extract {folder.path}`, or check it with `w2c verify {folder.path}`."
        )


def text_problems(text: str, program: Program) -> str:
    """Why a text is not the program: it does not pass the check, or says something else. Nothing is run."""
    refused = check_source(text)
    if refused:
        return f"it is refused, {refused[0]}"
    line = first_difference(text, program.source())
    return "" if line is None else f"line {line} is not what the recurrence in {CERTIFICATE} gives"


def run_problems(program: Program, problem: Problem) -> str:
    """Why the text of a program does not do what its recurrence does: both are run."""
    batches = [problem.validation.x[:COMPARED]]
    if problem.sampler is not None:
        batches.append(problem.sampler(np.random.default_rng(0), COMPARED, 4 * problem.length))
    known = problem.categories
    if known:  # only rows of the data hold texts that there are
        lengths = problem.validation.lengths[:COMPARED]
        batches = [x[None, :length] for x, length in zip(batches[0], lengths, strict=True)]
    sequences = [
        item[:, 0] if len(problem.inputs) == 1 else item
        for x in batches
        for item in in_words(x, problem.inputs, known)
    ]
    try:
        answers = run_program(program.source(), sequences)
    except InputError as error:
        return str(error)
    with np.errstate(all="ignore"):
        expected = [right for x in batches for right in program.decode(program.recurrence.run(x))]
    for answer, right in zip(answers, expected, strict=True):
        wanted = right[:, 0] if right.shape[1] == 1 else right
        if known:
            same = answer.tolist() == wanted.tolist()
        else:
            numbers = answer.astype(float), wanted.astype(float)
            same = answer.shape == wanted.shape and np.allclose(*numbers, 1e-9, 1e-9, equal_nan=True)
        if not same:
            return "its outputs differ from the formula's"
    return ""
