"""weights2code: train a Discrete Transformer on sequences, extract a program from its weights, certify it."""

TYPE_CHECKING = False  # as in `typing`, which takes its time to import

__version__ = "0.1.0"

if TYPE_CHECKING:
    from weights2code.decompilation.driver import decompile
    from weights2code.estimator import ProgramClassifier, ProgramRegressor
    from weights2code.network.load import load_network
    from weights2code.tasks import Task
    from weights2code.training.elsewhere import save_network

__all__ = [
    "ProgramClassifier",
    "ProgramRegressor",
    "Task",
    "__version__",
    "decompile",
    "load_network",
    "save_network",
]

#: Where each name is: it is imported when first used, so that `import weights2code` stays fast.
_HOME = {
    "ProgramClassifier": "estimator",
    "ProgramRegressor": "estimator",
    "Task": "tasks",
    "decompile": "decompilation.driver",
    "load_network": "network.load",
    "save_network": "training.elsewhere",
}


def __getattr__(name: str) -> object:
    """A public name, imported when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
