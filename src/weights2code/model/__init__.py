"""The Discrete Transformer (paper, section 3): sampler, reads, numerical attention, sub-MLPs, linear head."""

from weights2code.model.architecture import Architecture, Choice, Wiring, wiring
from weights2code.model.sampler import HARD, Annealing, Mode, Sampling, sample, sparsemax
from weights2code.model.transformer import DiscreteTransformer

__all__ = [
    "HARD",
    "Annealing",
    "Architecture",
    "Choice",
    "DiscreteTransformer",
    "Mode",
    "Sampling",
    "Wiring",
    "sample",
    "sparsemax",
    "wiring",
]
