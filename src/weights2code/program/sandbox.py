"""Generated programs are read before they are run, and run where they can do no harm.

Two walls. `check_source` walks the syntax tree against an allow-list (what is not named is refused), so a
program file from somebody else's run folder can contain arithmetic and nothing more. `run_program` then
runs it in a separate, isolated Python with limited time, memory and files; numbers go in and come out as
JSON. (Design: "Trust".)
"""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.effort import THREADS
from weights2code.errors import InputError
from weights2code.language.operators import numpy_names
from weights2code.run_folder import LARGEST_TEXT, read_file


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What texts use beside the operators of the language.
_NUMPY = numpy_names() | _words(
    "append arange argmax array asarray broadcast_arrays column_stack concatenate cumsum float64 full inf "
    "isclose max mean min mod nan ndarray pi repeat round sort stack sum zeros"
)
_BUILTINS = _words(
    "abs all any bool dict enumerate float int len list max min object range reversed round set sorted sum "
    "tuple zip ValueError"
)
_METHODS = _words("T append astype copy get item items mean ndim ravel reshape shape size sum tolist")
_MODULES = {
    "math": frozenset(name for name in dir(math) if not name.startswith("_")),
    "numpy": _NUMPY,
    "numpy.typing": _words("ArrayLike NDArray"),
    "typing": _words("Any Final"),
    "collections.abc": _words("Iterable Mapping Sequence"),
    "bisect": _words("bisect_left bisect_right insort"),
}
_ATTRIBUTES = _METHODS.union(_MODULES["math"], _MODULES["numpy"], _MODULES["numpy.typing"])
_NODES: tuple[type[ast.AST], ...] = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign),
    *(ast.AnnAssign, ast.For, ast.If, ast.IfExp, ast.Expr, ast.Raise, ast.Pass, ast.Call, ast.keyword),
    *(ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.Slice),
    *(ast.Tuple, ast.List, ast.Dict, ast.Attribute, ast.JoinedStr, ast.FormattedValue, ast.Starred),
    *(ast.Import, ast.ImportFrom, ast.alias, ast.ListComp, ast.GeneratorExp, ast.comprehension),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)

# What the isolated interpreter executes. NumPy is imported before the limits are set, because it needs
# files; builtins and imports are cut down once more, in case the check above is ever wrong.
_RUNNER = """
import bisect, builtins, json, sys, unicodedata  # names in other scripts need the last one
sys.path.append(sys.argv[1])
import numpy as np
import numpy.typing
job = json.loads(sys.stdin.buffer.readline())
numbers = np.frombuffer(sys.stdin.buffer.read())
try:
    import resource
    for name, amount in job["limits"].items():
        kind = getattr(resource, name, None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
            try:
                resource.setrlimit(kind, (amount, amount))
            except (ValueError, OSError):
                pass
except ImportError:
    pass
def limited_import(name, *rest, load=builtins.__import__):
    if name not in job["modules"]:
        raise ImportError(name)
    return load(name, *rest)
allowed = {name: getattr(builtins, name) for name in job["builtins"]}
space = {"__builtins__": {**allowed, "__import__": limited_import}, "__name__": "program"}
try:
    exec(compile(job["source"], "program.py", "exec"), space)
    function = space[space["__all__"][0]]
    results, told, first = [], [], 0
    left = job["numbers"]
    for shape, values in job["sequences"]:
        if job["texts"]:
            given = np.array(values, dtype=object).reshape(shape)
        else:
            size = int(np.prod(shape))
            given = numbers[first:first + size].reshape(shape).copy()
            first += size
        result = np.asarray(function(given))
        result = result if result.dtype == object else result.astype(float)
        left -= result.size
        if left < 0:
            raise ValueError("it returns more numbers than a program has outputs")
        if result.dtype != object:
            told.append(result.tobytes())
        results.append([result.shape, result.ravel().tolist() if result.dtype == object else None])
    answer = {"results": results}
except BaseException as error:
    said = str(error)[:job["characters"]] if isinstance(error, Exception) else ""
    answer, told = {"error": f"{type(error).__name__}: {' '.join(said.split())}"}, []
sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n" + b"".join(told))
sys.stdout.buffer.flush()
"""


#: Bytes of memory that it may use.
MEMORY = 2**30
#: Outputs that a program may return for each number that it is given, and characters of an error.
MOST_OUTPUTS = 100
MOST_SAID = 300


def check_source(text: str) -> list[str]:
    """Everything in a program text that is not on the allow-list, one sentence each; empty if it may run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [f"it is not Python: {' '.join(str(error).split())[:MOST_SAID]}"]
    problems = [*_shape_problems(tree)]
    known = _bound_names(tree) | _BUILTINS
    for node in ast.walk(tree):
        problems += [f"line {getattr(node, 'lineno', 1)}: {text}" for text in _node_problems(node, known)]
    return list(dict.fromkeys(problems))


def run_program(
    program: str | Path,
    sequences: Sequence[np.ndarray],
    *,
    timeout: float = 20.0,
    memory: int = MEMORY,
) -> list[np.ndarray]:
    """Run a program file (or its text) on many sequences, in one limited subprocess.

    Parameters
    ----------
    program
        A `Path` to a file, or the text itself.
    sequences
        One array a sequence, each of shape (T,) or (T, columns); with texts, all of them of objects.
    timeout, memory
        Seconds that the subprocess may take, and bytes of memory.

    Raises
    ------
    InputError
        If the text fails `check_source`, or fails while it runs.
    """
    text = read_file(program, LARGEST_TEXT).decode("utf-8") if isinstance(program, Path) else program
    problems = check_source(text)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError(f"the program is refused: {problems[0]}{more}")
    texts = any(np.asarray(sequence).dtype == object for sequence in sequences)
    kind = object if texts else float
    arrays = [np.asarray(sequence, dtype=kind) for sequence in sequences]
    job = {
        "texts": texts,
        "source": text,
        "sequences": [[array.shape, array.ravel().tolist() if texts else None] for array in arrays],
        "modules": sorted(_MODULES),
        "builtins": sorted(_BUILTINS),
        "numbers": MOST_OUTPUTS * sum(array.size + 1 for array in arrays),
        "characters": MOST_SAID,
        "limits": {
            "RLIMIT_CPU": math.ceil(timeout) + 1,
            "RLIMIT_AS": memory,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 3,  # those that are open; no other, and no socket
            "RLIMIT_NPROC": 0,
        },
    }
    answer, numbers = _answer(job, b"" if texts else b"".join(array.tobytes() for array in arrays), timeout)
    if "error" in answer:
        raise InputError(f"the program fails: {answer['error']}")
    results, first = [], 0
    for shape, values in answer["results"]:
        size = int(np.prod(shape)) if values is None else 0
        found = numbers[first : first + size] if values is None else np.array(values, dtype=object)
        results.append(found.reshape(shape))
        first += size
    return results


def call_program(text: str, sequences: Sequence[np.ndarray], **_: Any) -> list[np.ndarray]:
    """Run the text of a program that was made in this process, and came from nowhere else, in it."""
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    function = space[space["__all__"][0]]
    with np.errstate(all="ignore"):
        return [np.asarray(function(sequence)) for sequence in sequences]


def _answer(job: dict, numbers: bytes, timeout: float) -> tuple[dict, np.ndarray]:
    """What the process answers, and the numbers that follow it."""
    # one thread is plenty and keeps the memory limit meaningful; nothing else of the environment is passed
    environment = dict.fromkeys(THREADS, "1")
    # isolated mode leaves out the user's own packages; NumPy may be one of them
    packages = str(Path(np.__file__).parent.parent)
    environment |= {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            finished = subprocess.run(
                [sys.executable, "-I", "-c", _RUNNER, packages],
                input=json.dumps(job).encode() + b"\n" + numbers,
                capture_output=True,
                timeout=timeout,
                cwd=folder,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"it did not finish within {timeout:g} s"}, np.zeros(0)
    line, _, rest = finished.stdout.partition(b"\n")
    try:
        return json.loads(line), np.frombuffer(rest).copy()
    except ValueError:
        said = finished.stderr.decode(errors="replace").strip().splitlines()
        last = (said or [f"exit code {finished.returncode}"])[-1]
        return {"error": f"it was stopped: {last}"}, np.zeros(0)


def _shape_problems(tree: ast.Module) -> Iterator[str]:
    """The file is a docstring, imports, `__all__` and functions, and `__all__` names one of them."""
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    public: list[object] = []
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and target.id == "__all__":
            items = node.value.elts if isinstance(node.value, ast.List) else []
            public += [item.value if isinstance(item, ast.Constant) else None for item in items]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        elif not isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef)):
            yield f"line {node.lineno}: only imports, __all__ and functions may stand at the top"
    if len(public) != 1 or public[0] not in functions:
        yield "__all__ must name exactly one function of the file"


def _bound_names(tree: ast.Module) -> set[str]:
    """Every name that the file itself binds."""
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return names | {n.asname or n.name.partition(".")[0] for n in nodes if isinstance(n, ast.alias)}


def _node_problems(node: ast.AST, known: set[str]) -> Iterator[str]:
    if not isinstance(node, _NODES):
        yield f"{type(node).__name__} is not allowed"
    elif isinstance(node, ast.Import):
        for item in node.names:
            if item.name not in _MODULES:
                yield f"the import of {item.name} is not allowed"
    elif isinstance(node, ast.ImportFrom):
        names = _MODULES.get(node.module or "", frozenset()) if node.level == 0 else frozenset()
        for item in node.names:
            if item.name not in names:
                yield f"the import of {item.name} from {node.module} is not allowed"
    elif isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
        yield f"the attribute {node.attr} is not allowed"
    elif isinstance(node, ast.FunctionDef) and node.decorator_list:
        yield "decorators are not allowed"
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
        yield f"the name {node.id} is not allowed"
    for field in ("id", "name", "asname", "arg", "attr"):
        name = getattr(node, field, None)
        if isinstance(name, str) and name.startswith("__") and name != "__all__":
            yield f"the name {name} is not allowed"
