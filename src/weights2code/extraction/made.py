"""The network of a rule that no network showed: made for it, weights and all.

What the rule reads is the wiring. Where it remembers what no head can hold, that is an output more, whose
past comes back as a channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weights2code.data import Problem
from weights2code.extraction.links import with_network
from weights2code.extraction.members import fit_of
from weights2code.extraction.values import Extraction, Log
from weights2code.graph import DiscreteGraph
from weights2code.language import Recurrence
from weights2code.views.hidden import States, with_states

if TYPE_CHECKING:
    from weights2code.training.storage import Trained


def with_made_network(
    extraction: Extraction, problem: Problem, log: Log, *, computes: bool = True
) -> tuple[Extraction, Trained | None, Problem, States | None]:
    """The extraction with a network of its own, the problem of that network, and what the program remembers;
    no network if none can be written down."""
    for states in ways(extraction.program.recurrence):
        own = problem if states is None else with_states(problem, states)
        found, graph = with_network(extraction, None, own, log, computes=computes)
        if graph is not None:
            return found, as_trained(graph, own, found), own, states
    return extraction, None, problem, None


def ways(program: Recurrence) -> Iterator[States | None]:
    """What may be an output of the network: what no head can hold, or all that is remembered."""
    some, every = States.of(program), States.of(program, heads=False)
    yield some
    if every is not None and (some is None or every.names != some.names):
        yield every


def as_trained(graph: DiscreteGraph, problem: Problem, extraction: Extraction) -> Trained:
    """A network that was made, as a rung of one member."""
    from weights2code.graph.to_model import model_of
    from weights2code.training.storage import Trained

    whole = extraction.program.integer_outputs
    loss, accuracy = fit_of(graph, problem.under(extraction.program.regime))
    return Trained(
        "made",
        "made",
        graph.layout,
        model_of(graph),
        (loss,),
        (accuracy,),
        extraction.certificate.network is not None and extraction.certificate.network.equal,
        (),
        0.0,
        integer_outputs=whole,
    )
