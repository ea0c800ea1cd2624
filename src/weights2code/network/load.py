"""A network from its file: `load_network(folder)` gives something that can be called.

`model.safetensors` holds the members of one rung as they were trained; the certificate beside it says which
is compared with the program. `taught.safetensors`, where there is one, holds the network that was made to
equal the program, alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weights2code.errors import InputError
from weights2code.graph import DiscreteGraph
from weights2code.graph.machine import free_running
from weights2code.json_values import mapping, truth
from weights2code.model.weights import Weights
from weights2code.run_folder import CERTIFICATE, MODEL, TAUGHT, read_json
from weights2code.verify.links import NetworkCertificate


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A discrete network with its weights; call it to run it.

    Parameters
    ----------
    weights : its arrays, an ensemble of this one member, in float64.
    graph : the same network as nodes.
    integer_outputs : whether outputs are whole numbers: each is rounded, floor(y + 1/2), before it is given
        and fed back.
    """

    weights: Weights
    graph: DiscreteGraph
    integer_outputs: bool

    @property
    def model(self) -> Any:
        """The PyTorch module, an ensemble of this one member, made anew."""
        return self.weights.module()

    def __repr__(self) -> str:
        return repr(self.graph).replace("DiscreteGraph", "Network")

    def __call__(self, x: Any) -> np.ndarray:
        """Outputs of one sequence, (T,) or (T, columns), or of several, (n, T, columns), in the user's units.

        The network sees the inputs and its own past outputs, whatever the length. One sequence gives (T,), or
        (T, outputs) if there are several; n give (n, T, outputs).
        """
        given = np.asarray(x, dtype=float)
        columns = len(self.graph.inputs)
        sequences = given[:, None] if given.ndim == 1 and columns == 1 else given
        sequences = sequences[None] if sequences.ndim == 2 else sequences
        if sequences.ndim != 3 or sequences.shape[2] != columns:
            raise InputError(
                f"the network reads {columns} column{'s' * (columns > 1)}: give (T, {columns}) or "
                f"(n, T, {columns}), not {given.shape}."
            )
        if not np.isfinite(sequences).all():
            raise InputError("the inputs hold values that are missing or infinite; remove or fill them.")
        outputs = free_running(self.graph, sequences, whole=self.integer_outputs)
        if given.ndim == 3:
            return outputs
        return outputs[0, :, 0] if outputs.shape[2] == 1 else outputs[0]


def load_network(path: Path | str, which: Literal["trained", "taught"] | None = None) -> Network:
    """The network of a run folder, or of one of its two files.

    Of a folder it is the one that equals the program: the `taught` one if there is one, else the `trained`
    one; `which` chooses. Where no certificate speaks of a trained member, it is the best.
    """
    from weights2code.graph.from_model import graph_with_names
    from weights2code.training.storage import Trained

    path = Path(path)
    if which not in (None, "trained", "taught"):
        raise InputError(f"there is no network {which!r}: choose trained or taught.")
    if path.is_dir():
        taught = which == "taught" or (which is None and (path / TAUGHT).exists())
        path = path / (TAUGHT if taught else MODEL)
    trained = Trained.load(path)
    member, rounded = 0, trained.integer_outputs
    if path.name == MODEL and path.with_name(CERTIFICATE).exists():
        member, rounded = _compared(path.with_name(CERTIFICATE), trained.weights.members)
    layout = trained.layout
    names = [
        tuple(f"{letter}{i + 1}" for i in range(len(scales)))
        for letter, scales in (("x", layout.input_scales), ("y", layout.output_scales))
    ]
    weights = trained.weights.take([member]).double()
    graph = graph_with_names(weights, 0, layout, *names, length=1)
    return Network(weights, graph, rounded)


def _compared(file: Path, members: int) -> tuple[int, bool]:
    """The member that a certificate speaks of, and whether its outputs are rounded."""
    try:
        data = mapping(read_json(file), "a certificate")
        found = data.get("network") and NetworkCertificate.from_dict(data["network"])
        member = (found and found.member) or 0
        if member >= members:
            raise ValueError(f"there is no member {member}")
        return member, truth(data["program"]["integer_outputs"], "integer_outputs")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file} is damaged ({error}); it was left untouched.") from None
