"""Where the jobs of a sweep run, behind one protocol."""

from weights2code.experiments.engines.engine import Engine, Finished
from weights2code.experiments.engines.local import Local
from weights2code.experiments.engines.on_device import OnDevice
from weights2code.experiments.engines.ray import Ray

__all__ = ["Engine", "Finished", "Local", "OnDevice", "Ray"]
