"""The Discrete Transformer (paper, section 3): sampler, reads, numerical attention, sub-MLPs, linear head."""

from weights2code.model.architecture import Architecture, wiring
from weights2code.model.sampler import HARD, Sampling
from weights2code.model.transformer import DiscreteTransformer

__all__ = ["HARD", "Architecture", "DiscreteTransformer", "Sampling", "wiring"]
