"""The Discrete Transformer (paper, section 3): sampler, reads, numerical attention, sub-MLPs, linear head.

Sizes and weights are plain values; the module that computes with them is imported when it is asked for, since
PyTorch takes its time.
"""

from typing import TYPE_CHECKING

from weights2code.model.architecture import Architecture, wiring
from weights2code.model.weights import Weights

if TYPE_CHECKING:
    from weights2code.model.sampler import HARD, Sampling
    from weights2code.model.transformer import DiscreteTransformer

__all__ = ["HARD", "Architecture", "DiscreteTransformer", "Sampling", "Weights", "wiring"]

_HOME = {"HARD": "sampler", "Sampling": "sampler", "DiscreteTransformer": "transformer"}


def __getattr__(name: str) -> object:
    """A name that needs PyTorch."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
