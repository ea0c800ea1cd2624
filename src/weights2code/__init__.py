"""weights2code: train a Discrete Transformer on sequences, extract a program from its weights, certify it."""

__version__ = "0.1.0"
