"""What can be known of a model at every length: of linear ones by matrices, of our own by the kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from weights2code.data.own_problem import from_lists
from weights2code.decompilation.linear import bound
from weights2code.decompilation.model import Model
from weights2code.decompilation.verdict import ModelCertificate
from weights2code.errors import InputError
from weights2code.language import Recurrence

EVERY = "at every length, for all inputs of the domain"
#: Sequences that the kernel's own tests are made of, and their length.
TRIED, LENGTH = 200, 10


def proved(verdict: ModelCertificate, given: Any, program: Recurrence, model: Model) -> ModelCertificate:
    """The verdict, made stronger if there is a proof; what departs needs none."""
    if verdict.departures or not isinstance(given, (str, Path)):
        return verdict
    if Path(given).is_dir():
        return _by_kernel(verdict, given, program, model)
    return _by_matrices(verdict, str(given), program, model)


def _by_matrices(verdict: ModelCertificate, file: str, program: Recurrence, model: Model) -> ModelCertificate:
    plain = model.form.kind == "numbers" and model.at == "every" and not model.time_first
    numbers = model.reading.kind in ("round", "real") and len(program.outputs) == 1
    error = bound(file, program, model.domains) if plain and numbers and file.endswith(".onnx") else None
    if error is None or error >= (0.5 if model.reading.whole else model.reading.tolerance):
        return verdict
    return replace(
        verdict,
        verdict="proved" if model.reading.whole else "bounded",
        covers=EVERY,
        method=f"both are linear, and their largest difference over all inputs is {error:.3g}, from the "
        "matrices in the file, with what rounding of its 32-bit numbers may add",
        error=error,
    )


def _by_kernel(verdict: ModelCertificate, folder: Any, program: Recurrence, model: Model) -> ModelCertificate:
    """Our own networks are recurrences, which the kernel compares with the text of the program."""
    from weights2code.network.certify import certify_network
    from weights2code.network.load import load_network

    names = {"inputs": program.inputs, "outputs": program.outputs}
    x = model.some(TRIED, LENGTH)
    try:
        y = [np.asarray(row) for row in model(x)[0]]
        problem = from_lists(list(x), y, program.inputs, program.outputs, 0)
    except InputError:
        return verdict
    graph = replace(load_network(folder).graph, **names)
    found = certify_network(graph, program, replace(problem, domains=model.domains), 0).certificate
    if found.verdict != "proved":
        return verdict
    return replace(verdict, verdict="proved", covers=EVERY, method=found.method)
