"""The built-in tasks: the paper's 29, its appendix's, the 62 of MIPS, and formal languages.

>>> from weights2code import tasks
>>> tasks.get("Sum_Last2").reference([[1, 2, 3]])
array([[1., 3., 5.]])
"""

from weights2code.tasks.registry import SUITES, all_tasks, get
from weights2code.tasks.step_function import Reference, StepFunction
from weights2code.tasks.table import plain_text, render, rows
from weights2code.tasks.task import Category, PaperSettings, Sampler, Suite, Task, WindowClass

__all__ = [
    "SUITES",
    "Category",
    "PaperSettings",
    "Reference",
    "Sampler",
    "StepFunction",
    "Suite",
    "Task",
    "WindowClass",
    "all_tasks",
    "get",
    "plain_text",
    "render",
    "rows",
]
