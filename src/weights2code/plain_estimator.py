"""What the estimators need of scikit-learn, which may not be installed: parameters, and nothing more."""

from __future__ import annotations

import inspect
from typing import Any

from weights2code.errors import InputError


class NotFittedError(ValueError, AttributeError):
    """`predict` was called before `fit`."""


class BadInput(InputError, ValueError):
    """What was given cannot be used; a ValueError too, as scikit-learn expects."""


class RegressorMixin:
    """Marks a regressor."""


class ClassifierMixin:
    """Marks a classifier."""


class BaseEstimator:
    """Parameters as scikit-learn has them."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of `__init__` and their values."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def set_params(self, **params: Any) -> Any:
        """Change parameters; an unknown one is refused."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise BadInput(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        changed = {name: value for name, value in self.get_params().items() if value != usual[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"
