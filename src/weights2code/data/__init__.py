"""Sequences, the layouts that turn them into channels of the stream, and the problem that a run is about."""

from weights2code.data.layouts import LAYOUTS, Encoded, Layout, LayoutName, fit_layout
from weights2code.data.problem import Problem, from_task
from weights2code.data.sequences import Sequences, from_arrays, from_list, split

__all__ = [
    "LAYOUTS",
    "Encoded",
    "Layout",
    "LayoutName",
    "Problem",
    "Sequences",
    "fit_layout",
    "from_arrays",
    "from_list",
    "from_task",
    "split",
]
