"""Sequences, the layouts that turn them into channels of the stream, and the problem that a run is about."""

from weights2code.data.layouts import LAYOUTS, Encoded, Layout, fit_layout
from weights2code.data.own import FileSource, file_source, from_file
from weights2code.data.own_problem import from_lists
from weights2code.data.problem import Problem, Regime, from_task
from weights2code.data.sequences import Rows, Sequences, from_arrays, from_list

__all__ = [
    "LAYOUTS",
    "Encoded",
    "FileSource",
    "Layout",
    "Problem",
    "Regime",
    "Rows",
    "Sequences",
    "file_source",
    "fit_layout",
    "from_arrays",
    "from_file",
    "from_list",
    "from_lists",
    "from_task",
]
