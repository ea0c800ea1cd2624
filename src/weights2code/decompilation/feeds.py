"""What runs a model: an ONNX session, a PyTorch module, a plain function, steps, a network of a run folder.

A feed takes one array, as it is to be given, and returns one array. It also says in which forms it may want
its inputs, the likeliest first. Libraries are imported when a model needs them; nothing is unpickled.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weights2code.errors import InputError
from weights2code.tasks.task_file import names_in

#: Columns as numbers (n, T, columns); tokens (n, T) or (n, T, columns); one-hot (n, T, sizes together); an
#: array (n, T) a column.
Kind = Literal["numbers", "tokens", "one-hot", "separate"]


#: Tuples in tuples that a model may return, and what arrays of no numbers hold.
DEEPEST = 3
NO_NUMBERS = {"c": "complex numbers", "U": "text", "S": "text"}


class Silent(Exception):
    """The model gave no answer: why, as the end of a sentence that begins with "the model"."""


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
        (first, second), (count, most) = given.shape[:2], self.fixed
        if most is not None and second > most:
            raise Silent(f"takes sequences of length {most}, not {second}")
        step = count or max(1, first)
        out = np.concatenate([self._run(given[begin : begin + step]) for begin in range(0, first, step)])
        return out[:, :second] if most is not None and out.ndim > 1 and out.shape[1] == most else out

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


class Called:
    """A function of arrays, a PyTorch module in eval mode, or what has `step(state, row)`: rows (n, columns)
    go in one after the other, with the state None at first, and a state and an output come back."""

    def __init__(self, model: Any) -> None:
        self.model, self.step = model, getattr(model, "step", None)
        self.torch = sys.modules.get("torch")
        if self.torch is None or not isinstance(model, self.torch.nn.Module):
            self.torch = None
        else:
            model.eval()
        self.checked = self.step is None or not callable(model)

    def forms(self) -> list[Form]:
        """Tokens where a module embeds them; else as wide as its first layer is."""
        plain = [Form("numbers", "float64"), Form("tokens", "int64"), Form("one-hot", "float64")]
        if self.torch is None:
            return plain[::2] if self.step is not None else plain
        nn, doubles = self.torch.nn, self.torch.float64
        first = next((p.dtype for p in self.model.parameters() if p.is_floating_point()), None)
        dtype = "float64" if first == doubles else "float32"
        any_width = [Form("numbers", dtype), Form("tokens", "int64"), Form("one-hot", dtype)]
        for layer in self.model.modules():
            if isinstance(layer, nn.Embedding):
                return [any_width[1], any_width[0]]
            width = getattr(layer, "input_size", None) or getattr(layer, "in_features", None)
            if isinstance(width, int):
                known = [Form("numbers", dtype, width), Form("one-hot", dtype, width)]
                return [*known, any_width[1], any_width[0], any_width[2]]
        return any_width

    def ask(self, given: np.ndarray) -> np.ndarray:
        if self.torch is None:
            return self._answer(given)
        with self.torch.no_grad():
            return self._answer(self.torch.from_numpy(np.ascontiguousarray(given)))

    def _answer(self, given: Any) -> np.ndarray:
        if self.step is None:
            return as_array(self.model(given))
        state, outputs = None, []
        for t in range(given.shape[1]):
            state, output = self.step(state, given[:, t])
            outputs.append(as_array(output).reshape(len(given), -1))
        out = np.stack(outputs, 1)
        if not self.checked:
            whole = as_array(self.model(given))
            if not np.allclose(whole.reshape(-1), out.reshape(-1), 1e-4, 1e-6):
                raise Silent("gives other outputs step by step than for whole sequences")
            self.checked = True
        return out


Feed = Onnx | Called


def feed_of(model: Any) -> Feed:
    """What runs this object: a module, or anything that can be called or has steps."""
    model = _instance(model) if isinstance(model, type) else model
    if not callable(model) and not hasattr(model, "step"):
        raise InputError(
            f"a model must be called with an array (n, T, columns), which {type(model).__name__} cannot be."
        )
    return Called(model)


def feed_from(path: str, name: str) -> Feed:
    """What runs a file: ONNX, or the object of that name in a Python file, which is executed."""
    if not name:
        return Onnx(path)
    known = names_in(Path(path))
    if name not in known:
        raise InputError(f"{Path(path).name} defines no {name}.")
    return feed_of(known[name])


def _instance(kind: type) -> Any:
    needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
    if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in needed):
        raise InputError(f"{kind.__name__} is a class that needs arguments; name an instance of it.")
    return kind()


def as_array(out: Any) -> np.ndarray:
    """The array in what a model returned: itself, the first of a tuple, the logits of a dictionary."""
    for _ in range(DEEPEST):
        out = _inside(out)
    out = out.detach().cpu().double() if hasattr(out, "detach") else out
    values = np.asarray(out)
    if values.dtype.kind not in "biuf":
        what = NO_NUMBERS.get(values.dtype.kind, f"{type(out).__name__} objects")
        raise Silent(f"gives {what} in place of numbers")
    return values


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
