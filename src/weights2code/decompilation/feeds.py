"""What runs a model: an ONNX session, a PyTorch module, a plain function, a network of a run folder.

A feed takes one array, as it is to be given, and returns one array. It also says in which forms it may want
its inputs, the likeliest first. Libraries are imported when a model needs them; nothing is unpickled.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weights2code.errors import InputError

#: Columns as numbers (n, T, columns); tokens (n, T) or (n, T, columns); one-hot (n, T, sizes together); an
#: array (n, T) a column.
Kind = Literal["numbers", "tokens", "one-hot", "separate"]


#: Tuples in tuples that a model may return.
DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Form:
    """How inputs may be given: the kind, the type of numbers, the width of the last axis if it is known."""

    kind: Kind
    dtype: str
    width: int | None = None


class Onnx:
    """A file of ONNX Runtime. Axes whose size the file fixes are filled up and cut again."""

    def __init__(self, path: str) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise InputError('ONNX models need one more package: pip install "weights2code[onnx]".') from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(f"{Path(path).name} cannot be loaded: {said(error)}.") from None
        self.inputs = self.session.get_inputs()
        shape = self.inputs[0].shape
        self.fixed = [size if isinstance(size, int) and size > 0 else None for size in shape[:2]]

    def forms(self) -> list[Form]:
        dtype = _onnx_dtype(self.inputs[0].type)
        if len(self.inputs) > 1:
            return [Form("separate", dtype)]
        shape = self.inputs[0].shape
        if len(shape) < 3:
            return [Form("tokens", dtype)]
        width = shape[2] if isinstance(shape[2], int) else None
        return [Form("numbers", dtype, width), Form("one-hot", dtype, width)]

    def ask(self, given: np.ndarray) -> np.ndarray:
        """Outputs of the first output; with several inputs the last axis goes to them in order."""
        first, second = given.shape[:2]
        for axis, size in enumerate(self.fixed):
            if size is not None and given.shape[axis] > size and axis:
                raise InputError(f"the model takes sequences of length {size}, not {given.shape[axis]}.")
        step = self.fixed[0] or max(1, first)
        parts = [self._run(given[begin : begin + step]) for begin in range(0, first, step)]
        out = np.concatenate(parts)
        if self.fixed[1] is not None and out.ndim > 1 and out.shape[1] == self.fixed[1]:
            out = out[:, :second]
        return out

    def _run(self, given: np.ndarray) -> np.ndarray:
        count = len(given)
        fill = [(0, (size or have) - have) for size, have in zip(self.fixed, given.shape, strict=False)]
        padded = np.pad(given, [*fill, *[(0, 0)] * (given.ndim - 2)], mode="edge")
        if len(self.inputs) > 1:
            feed = {item.name: padded[..., i] for i, item in enumerate(self.inputs)}
        else:
            feed = {self.inputs[0].name: padded}
        return np.asarray(self.session.run(None, feed)[0])[:count]


def _onnx_dtype(kind: str) -> str:
    known = {"tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(double)": "float64"}
    known |= {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(bool)": "bool"}
    if kind not in known:
        raise InputError(f"the model takes {kind}, which nobody can give it; export it with numbers.")
    return known[kind]


class Module:
    """A PyTorch module, in eval mode."""

    def __init__(self, module: Any) -> None:
        import torch

        self.torch, self.module = torch, module.eval()
        first = next((p for p in module.parameters() if p.is_floating_point()), None)
        self.float = "float64" if first is not None and first.dtype == torch.float64 else "float32"

    def forms(self) -> list[Form]:
        """Tokens where it embeds them; else as wide as the first layer is."""
        nn = self.torch.nn
        tokens = [Form("tokens", "int64")]
        for layer in self.module.modules():
            if isinstance(layer, nn.Embedding):
                return [*tokens, Form("numbers", self.float)]
            width = getattr(layer, "input_size", None) or getattr(layer, "in_features", None)
            if isinstance(width, int):
                numbers = [Form("numbers", self.float, width), Form("one-hot", self.float, width)]
                return [*numbers, *tokens, Form("numbers", self.float), Form("one-hot", self.float)]
        return [Form("numbers", self.float), *tokens, Form("one-hot", self.float)]

    def ask(self, given: np.ndarray) -> np.ndarray:
        with self.torch.no_grad():
            return as_array(self.module(self.torch.from_numpy(np.ascontiguousarray(given))))


class Function:
    """A plain function of arrays."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def forms(self) -> list[Form]:
        return [Form("numbers", "float64"), Form("tokens", "int64"), Form("one-hot", "float64")]

    def ask(self, given: np.ndarray) -> np.ndarray:
        return as_array(self.function(given))


Feed = Onnx | Module | Function


def feed_of(model: Any) -> Feed:
    """What runs this object: a module, or anything that can be called."""
    if isinstance(model, type):
        model = _instance(model)
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        return Module(model)
    if not callable(model):
        raise InputError(
            f"a model must be called with an array (n, T, columns), which {type(model).__name__} cannot be."
        )
    return Function(model)


def feed_from(path: str, name: str) -> Feed:
    """What runs a file: ONNX, or the object of that name in a Python file, which is executed."""
    return feed_of(_from_python(Path(path), name)) if name else Onnx(path)


def _instance(kind: type) -> Any:
    needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
    if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in needed):
        raise InputError(f"{kind.__name__} is a class that needs arguments; name an instance of it.")
    return kind()


def _from_python(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"weights2code_model_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{path.name} raises {type(error).__name__}: {said(error)}.") from None
    if not hasattr(module, name):
        raise InputError(f"{path.name} defines no {name}.")
    return getattr(module, name)


def as_array(out: Any) -> np.ndarray:
    """The array in what a model returned: itself, the first of a tuple, the logits of a dictionary."""
    for _ in range(DEEPEST):
        out = _inside(out)
    out = out.detach().cpu().double() if hasattr(out, "detach") else out
    return np.asarray(out)


def _inside(out: Any) -> Any:
    if isinstance(out, dict):
        return out.get("logits", next(iter(out.values()), out))
    if hasattr(out, "logits"):
        return out.logits
    return out[0] if isinstance(out, (tuple, list)) and len(out) and not np.isscalar(out[0]) else out


def said(error: BaseException) -> str:
    """What an error says, on one short line."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:200]}..."
