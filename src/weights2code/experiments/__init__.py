"""Sweeps over many runs, and the paper's tables and figures made from them."""
