"""Up to which values a network, rounded to whole numbers, equals its program.

Weights that are a little off hold as long as the values that they multiply stay small. By induction network
and program have read the same past so far; they go on being equal while the difference one step ahead, and
what float64 may be off when it computes the network, stay below one half together.
"""

from __future__ import annotations

from math import inf

import numpy as np

from weights2code.effort import Effort
from weights2code.graph import DiscreteGraph
from weights2code.language import Domain, Recurrence
from weights2code.language.interval import ANYTHING, is_infinite
from weights2code.network.box import Box
from weights2code.network.difference import difference_of
from weights2code.network.leaves import leaves_of, rounding_at
from weights2code.network.pieces import largest_of
from weights2code.verify.product import inlined
from weights2code.verify.ranges import bounds_of

#: Float64 holds every whole number up to this power of two.
_MOST = 53


def limit_of_values(
    graph: DiscreteGraph,
    program: Recurrence,
    domains: tuple[Domain, ...],
    effort: Effort,
    margin: float = 0.0,
) -> float | None:
    """The largest power of two such that both are equal while no past value is larger.

    Infinity: whatever the past is, as far as the program lets it be. 0: not even at small values, as far as
    could be shown. None: one of them is no function of finitely many leaves that can be bounded.

    Parameters
    ----------
    margin
        How far from the next rounding border outputs have to stay besides.
    """
    machine = program.live()
    network = leaves_of(graph)
    if network is None or machine.retrieves():
        return None
    formulas = inlined(machine)
    outputs = tuple(formulas[name] for name in machine.outputs)
    leaves = tuple(dict.fromkeys([*network, *(v for formula in outputs for v in formula.variables())]))
    bounds = bounds_of(program, domains)
    ranges = [bounds.get(leaf.name, ANYTHING) for leaf in leaves]
    whole = np.ones(len(leaves), bool)
    difference = difference_of(graph, outputs, leaves, whole)
    if difference is None or not all(domain.discrete for domain in domains):
        return None

    def equal(power: int) -> bool:
        """Whether both are equal while no value that has no bound is larger than this power of two."""
        limit = 2.0**power
        low = [-limit if is_infinite(item.low) else float(item.low) for item in ranges]
        high = [limit if is_infinite(item.high) else float(item.high) for item in ranges]
        box = Box(leaves, np.array(low), np.maximum(low, high), whole)
        given = effort.left / 4
        share = Effort(given)
        below = 0.5 - margin - float(rounding_at(graph, box.size).max())
        equal = below > 0 and all(
            found.upper < below for found in largest_of(difference, box, share, below=below)
        )
        effort.spend(given - share.left)
        return equal

    if all(item.finite for item in ranges):
        return inf if equal(_MOST) else 0.0
    if not equal(0):
        return 0.0
    power, too_large = 0, _MOST + 1
    while too_large - power > 1:
        middle = (power + too_large) // 2
        power, too_large = (middle, too_large) if equal(middle) else (power, middle)
    return 2.0**power
