"""weights2code: train a Discrete Transformer on sequences, extract a program from its weights, certify it."""

TYPE_CHECKING = False  # as in `typing`, which takes its time to import

__version__ = "0.1.0"

if TYPE_CHECKING:
    from weights2code.estimator import ProgramRegressor
    from weights2code.network.load import load_network
    from weights2code.tasks import Task

__all__ = ["ProgramRegressor", "Task", "__version__", "load_network"]


def __getattr__(name: str) -> object:
    """Each is imported when first used: `import weights2code` stays fast."""
    if name == "load_network":
        from weights2code.network.load import load_network

        return load_network
    if name == "ProgramRegressor":
        from weights2code.estimator import ProgramRegressor

        return ProgramRegressor
    if name == "Task":
        from weights2code.tasks import Task

        return Task
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
