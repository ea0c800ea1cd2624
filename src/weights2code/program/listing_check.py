"""Is the listing the network? Its text is run, and the network is asked what it gives at each of its steps.

The text runs free, on its own past outputs. The network gets the same past outputs, so whatever the two do to
an error later, a difference at any single step is found. What a folder holds is compared with what its graph
gives, number by number.
"""

from __future__ import annotations

import numpy as np

from weights2code.data import Problem, from_arrays
from weights2code.errors import InputError, NotExtracted
from weights2code.explain.explanation import ExplainedGraph
from weights2code.graph import DiscreteGraph
from weights2code.program.listing import listing_source
from weights2code.program.same_text import first_difference
from weights2code.program.sandbox import check_source, run_program
from weights2code.verify.links import Listing

#: Sequences of each length, and the lengths: one, and so many times that of training.
SEQUENCES = 10
TIMES = (1, 4, 10)
#: Longer ones are cut, unless the training length is longer still: heads look at every pair of positions.
LONGEST = 1000


def check_listing(text: str, graph: DiscreteGraph, problem: Problem, seed: int = 0) -> Listing:
    """Run the text of a listing beside its network, on sequences of several lengths.

    Raises
    ------
    InputError
        If the text is refused, fails while it runs, or gives other outputs than one a position.
    """
    sequences = _inputs(graph, problem, seed)
    answers = run_program(text, [x[:, 0] if x.shape[1] == 1 else x for x in sequences], timeout=120.0)
    right = problem.validation.y[problem.validation.valid]
    error, scale = 0.0, float(np.abs(right).max(initial=0.0)) or 1.0
    for x, answer in zip(sequences, answers, strict=True):
        shape = len(x), len(graph.outputs)
        if answer.size != shape[0] * shape[1]:
            raise InputError("the program does not give its outputs at every position")
        given = answer.reshape(shape)
        finite = np.isfinite(given)
        with np.errstate(all="ignore"):
            past = np.where(finite, np.floor(given + 0.5) if problem.integer_outputs else given, 0.0)
            wanted = graph.run(from_arrays(x[None], past[None]))[0]
            off = np.abs(given - wanted) / np.maximum(np.abs(wanted) / scale, 1.0)
        off = np.where(finite | np.isfinite(wanted), off, 0.0)
        # after the first that is no number, all may be none
        begun = np.append(True, np.logical_and.accumulate(finite.all(1))[:-1])
        begun[: graph.layout.first_scored] = False
        error = max(error, float(np.where(np.isnan(off), np.inf, off)[begun].max(initial=0.0)))
    return Listing(error, scale, tuple(sorted(set(map(len, sequences)))), len(sequences))


def listing_problems(text: str, explained: ExplainedGraph, problem: Problem) -> str:
    """Why a text is not the listing of a graph; empty if it is. Nothing is run."""
    refused = check_source(text)
    if refused:
        return f"it is refused, {refused[0]}"
    try:
        line = first_difference(text, listing_source(explained, problem))
    except NotExtracted as error:
        return f"the graph has none: {error}"
    return "" if line is None else f"line {line} is not what the graph gives"


def _inputs(graph: DiscreteGraph, problem: Problem, seed: int) -> list[np.ndarray]:
    """Fresh sequences (T, columns) of several lengths; of own data those that are there, and beginnings.

    In `concat` the network is made for one length.
    """
    length = problem.length
    if problem.sampler is not None:
        lengths = [1, *(max(length, min(times * length, LONGEST)) for times in TIMES)]
        lengths = [length] if graph.layout.name == "concat" else lengths
        rng = np.random.default_rng(seed)
        return [x for some in dict.fromkeys(lengths) for x in problem.sampler(rng, SEQUENCES, some)]
    parts = [data for data in (problem.validation, problem.held_out) if data is not None]
    most = max(length, LONGEST)
    own = [(x, n) for data in parts for x, n in zip(data.x[:SEQUENCES], data.lengths, strict=False)]
    return [*(x[:1] for x, _ in own), *(x[: min(int(n), most)] for x, n in own)]
