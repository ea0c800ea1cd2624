"""The discrete graph of a trained member, and pruning. (`graph.from_model` alone needs torch.)"""

from weights2code.graph.graph import (
    ChannelNode,
    DiscreteGraph,
    Node,
    OperatorNode,
    RouterNode,
    from_dict,
    shifted,
    to_dict,
)
from weights2code.graph.machine import machine_of
from weights2code.graph.pruning import prune_by_effect, prune_by_threshold

__all__ = [
    "ChannelNode",
    "DiscreteGraph",
    "Node",
    "OperatorNode",
    "RouterNode",
    "from_dict",
    "machine_of",
    "prune_by_effect",
    "prune_by_threshold",
    "shifted",
    "to_dict",
]
