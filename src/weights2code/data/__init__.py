"""Sequences and the layouts that turn them into channels of the stream."""

from weights2code.data.layouts import LAYOUTS, Encoded, Layout, LayoutName, fit_layout
from weights2code.data.sequences import Sequences, from_arrays, from_list, split

__all__ = [
    "LAYOUTS",
    "Encoded",
    "Layout",
    "LayoutName",
    "Sequences",
    "fit_layout",
    "from_arrays",
    "from_list",
    "split",
]
