"""Linear models, at every length: the bound holds, is not much too large, and is given for nothing else."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import weights2code
from weights2code.decompilation import linear
from weights2code.language import Recurrence, Step, Var, integers, op

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

X, Y = Var("x"), Var("y", 1)
SUM_OF_TWO = Recurrence(("x",), (Step("y", X + Var("x", 1)),), ("y",))


def linear_file(path: Path, matrix: list[list[float]], between: str = "") -> Path:
    """`h' = [h, x] W`, `y = h' V` with two numbers in h, as a loop over the positions."""
    make, tensor = onnx.helper.make_node, onnx.numpy_helper.from_array
    info, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto
    step = [
        make("Gather", ["x", "i"], ["row"], axis=1),
        make("Concat", ["h", "row"], ["both"], axis=1),
        make("MatMul", ["both", "W"], ["sum"]),
        make(between or "Identity", ["sum"], ["next"]),
        make("MatMul", ["next", "V"], ["out"]),
        make("SequenceInsert", ["seen", "out"], ["more"]),
        make("Identity", ["go"], ["on"]),
    ]
    sequence = onnx.helper.make_tensor_sequence_value_info
    body = onnx.helper.make_graph(
        step,
        "step",
        [
            info("i", kind.INT64, []),
            info("go", kind.BOOL, []),
            info("h", kind.FLOAT, None),
            sequence("seen", kind.FLOAT, None),
        ],
        [info("on", kind.BOOL, []), info("next", kind.FLOAT, None), sequence("more", kind.FLOAT, None)],
    )
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "one"], ["length"]),
        make("Gather", ["shape", "zero"], ["count"]),
        make("Unsqueeze", ["count", "first"], ["rows"]),
        make("Concat", ["rows", "two"], ["size"], axis=0),
        make("ConstantOfShape", ["size"], ["begin"]),
        make("SequenceEmpty", [], ["none"]),
        make("Loop", ["length", "true", "begin", "none"], ["end", "all"], body=body),
        make("ConcatFromSequence", ["all"], ["y"], axis=1, new_axis=1),
    ]
    whole = {"zero": np.array(0), "one": np.array(1), "first": np.array([0]), "two": np.array([2])}
    weights = {"W": np.array(matrix, np.float32), "V": np.array([[1.0], [0.0]], np.float32)}
    known = [tensor(np.asarray(value), name) for name, value in (whole | weights).items()]
    known.append(tensor(np.array(True), "true"))
    graph = onnx.helper.make_graph(
        nodes, "model", [info("x", kind.FLOAT, ["n", "t", 1])], [info("y", kind.FLOAT, None)], known
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


#: The present input and the one before: h = [x + before, before], a little off.
NEARLY = [[0.0, 0.0], [1.0, 0.0], [1.001, 1.0]]
MOVED = [[0.001, 0.0], [1.0, 0.0], [1.0, 1.0]]


def largest(path: Path, program: Recurrence, most: int) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    rng = np.random.default_rng(0)
    x = np.where(rng.random((200, 50, 1)) < 0.5, 0, most).astype(float)
    x[0], x[1] = 0, most
    right = session.run(None, {"x": x.astype(np.float32)})[0]
    return float(np.abs(right - program.run(x)).max())


@pytest.mark.parametrize("matrix", [NEARLY, MOVED])
def test_bound_holds_and_is_near(tmp_path: Path, matrix: list[list[float]]) -> None:
    file = linear_file(tmp_path / "two.onnx", matrix)
    found = linear.bound(str(file), SUM_OF_TWO, (integers(0, 99),))
    real = largest(file, SUM_OF_TWO, 99)
    assert found is not None
    assert real <= found <= 1.1 * real + 0.01


def test_what_is_not_linear_has_no_bound(tmp_path: Path) -> None:
    domains = (integers(0, 99),)
    file = linear_file(tmp_path / "relu.onnx", NEARLY, between="Relu")
    assert linear.bound(str(file), SUM_OF_TWO, domains) is None
    file = linear_file(tmp_path / "two.onnx", NEARLY)
    larger = Recurrence(("x",), (Step("y", op("max", X, Y)),), ("y",))
    assert linear.bound(str(file), larger, domains) is None
    endless = Recurrence(("x",), (Step("y", X + Y),), ("y",))
    assert linear.bound(str(file), endless, domains) is None


@pytest.mark.slow
def test_linear_model_is_proved(tmp_path: Path) -> None:
    file = linear_file(tmp_path / "two.onnx", NEARLY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = weights2code.decompile(str(file), {"x": (0, 99)}, 8, queries=8000)
    assert found.program is not None
    assert found.program.formula() == "y[t] = x[t] + x[t-1]"
    assert found.model is not None
    assert found.model.verdict == "proved"
    assert 0.099 <= (found.model.error or 0) < 0.2
    assert found.exit_code == 0
