"""Linear models, at every length: the bound holds, is not much too large, and is given for nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import weights2code
from weights2code.decompilation import linear
from weights2code.decompilation.feeds import Onnx
from weights2code.language import Expr, Recurrence, Step, Var, integers, op

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

X, Y = Var("x"), Var("y", 1)
SUM_OF_TWO = Recurrence(("x",), (Step("y", X + Var("x", 1)),), ("y",))


MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
model (float[n, t, 1] x) => (float[n, t, 1] y)
<int64 zero = {0}, int64 one = {1}, int64 few = {5}, int64[1] first = {0}, int64[1] two = {2}, bool yes = {1},
 float[3, 2] W = {%s}, float[2, 1] V = {1, 0}>
{
    shape = Shape(x)
    length = Gather(shape, one)
    count = Gather(shape, zero)
    rows = Unsqueeze(count, first)
    size = Concat<axis = 0>(rows, two)
    begin = ConstantOfShape(size)
    none = SequenceEmpty()
    end, all = Loop(length, yes, begin, none) <
        body = step (int64 i, bool go, float[] h, seq(float[]) seen)
            => (bool on, float[] next, seq(float[]) more) {
            row = Gather<axis = 1>(x, i)
            both = Concat<axis = 1>(h, row)
            sum = MatMul(both, W)
            next = %s(sum)
            out = MatMul(next, V)
            more = SequenceInsert(seen, out)
            on = %s
        }>
    y = ConcatFromSequence<axis = 1, new_axis = 1>(all)
}
"""


def linear_file(
    path: Path, matrix: list[list[float]], between: str = "Identity", on: str = "Identity(go)"
) -> Path:
    """`h' = [h, x] W`, `y = h' V` with two numbers in h, as a loop over the positions."""
    numbers = ", ".join(str(value) for row in matrix for value in row)
    onnx.save(onnx.parser.parse_model(MODEL % (numbers, between, on)), str(path))
    return path


#: The present input and the one before: h = [x + before, before], a little off.
NEARLY = [[0.0, 0.0], [1.0, 0.0], [1.001, 1.0]]
MOVED = [[0.001, 0.0], [1.0, 0.0], [1.0, 1.0]]


def largest(path: Path, program: Recurrence, most: int) -> float:
    x = np.where(np.random.default_rng(0).random((200, 50, 1)) < 0.5, 0, most).astype(np.float32)
    x[0], x[1] = 0, most
    return float(np.abs(Onnx(str(path)).ask(x) - program.run(x)).max())


@pytest.mark.parametrize("matrix", [NEARLY, MOVED])
def test_bound_holds_and_is_near(tmp_path: Path, matrix: list[list[float]]) -> None:
    file = linear_file(tmp_path / "two.onnx", matrix)
    found = linear.bound(str(file), SUM_OF_TWO, (integers(0, 99),))
    real = largest(file, SUM_OF_TWO, 99)
    assert found is not None
    assert real <= found <= 1.1 * real + 0.01


@pytest.mark.parametrize(
    ("between", "formula"), [("Relu", X + Var("x", 1)), ("Identity", op("max", X, Y)), ("Identity", X + Y)]
)
def test_what_is_not_linear_or_settles_never_has_none(tmp_path: Path, between: str, formula: Expr) -> None:
    file = linear_file(tmp_path / "two.onnx", NEARLY, between)
    program = Recurrence(("x",), (Step("y", formula),), ("y",))
    assert linear.bound(str(file), program, (integers(0, 99),)) is None
    ends = linear_file(tmp_path / "ends.onnx", NEARLY, on="Less(i, few)")
    assert linear.bound(str(ends), SUM_OF_TWO, (integers(0, 99),)) is None


@pytest.mark.slow
def test_linear_model_is_proved(tmp_path: Path) -> None:
    file = linear_file(tmp_path / "two.onnx", NEARLY)
    found = weights2code.decompile(str(file), {"x": (0, 99)}, 8, queries=8000)
    assert found.program is not None
    assert found.program.formula() == "y[t] = x[t] + x[t-1]"
    assert found.model is not None
    assert found.model.verdict == "proved"
    assert 0.099 <= (found.model.error or 0) < 0.2
    assert found.exit_code == 0
