"""weights2code: train a Discrete Transformer on sequences, extract a program from its weights, certify it."""

TYPE_CHECKING = False  # as in `typing`, which takes its time to import

__version__ = "0.1.0"

if TYPE_CHECKING:
    from weights2code.estimator import ProgramRegressor

__all__ = ["ProgramRegressor", "__version__"]


def __getattr__(name: str) -> object:
    """`ProgramRegressor` is imported when first used: `import weights2code` stays fast."""
    if name == "ProgramRegressor":
        from weights2code.estimator import ProgramRegressor

        return ProgramRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
