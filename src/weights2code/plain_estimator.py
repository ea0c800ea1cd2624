"""What `ProgramRegressor` needs of scikit-learn where that is not installed: parameters, and nothing more."""

from __future__ import annotations

import inspect
from typing import Any


class NotFittedError(ValueError, AttributeError):
    """`predict` was called before `fit`."""


class RegressorMixin:
    """Marks a regressor."""


class BaseEstimator:
    """Parameters as scikit-learn has them."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of `__init__` and their values."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def set_params(self, **params: Any) -> Any:
        """Change parameters; an unknown one is refused."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
