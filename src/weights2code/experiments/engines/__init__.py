"""Where the jobs of a sweep run, behind one protocol."""

from weights2code.experiments.engines.engine import Engine, Finished
from weights2code.experiments.engines.in_process import InProcess

__all__ = ["Engine", "Finished", "InProcess"]
