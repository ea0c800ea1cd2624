"""Weights and checkpoints on disk: safetensors with a JSON header, written atomically, never executed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from weights2code.data import Layout
from weights2code.errors import InputError
from weights2code.heads import EQUALITY_SHARPNESS
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.run_folder import write_atomically
from weights2code.training.loop import Epoch, LoopState, keep_members
from weights2code.training.recipes import Recipe

_MASKS = ("choice_mask", "variable_mask", "start_mask", "offset_mask")


def write_tensors(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, save(plain, {"weights2code": json.dumps(header)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header; a file that is not whole is refused and left as it is."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["weights2code"])
            return {name: file.get_tensor(name) for name in file.keys()}, header  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise InputError(
            f"{path} is corrupt or not a weights2code file ({type(error).__name__}); it was left untouched. "
            "Delete its folder or choose another --out."
        ) from None


def model_tensors(model: DiscreteTransformer) -> dict[str, Tensor]:
    """Parameters and masks of an ensemble, named apart."""
    tensors: dict[str, Tensor] = {f"model.{name}": value for name, value in model.named_parameters()}
    return tensors | {f"mask.{name}": getattr(model, name).to(torch.uint8) for name in _MASKS}


def model_header(model: DiscreteTransformer, layout: Layout) -> dict[str, Any]:
    return {
        "architecture": model.architecture.to_dict(),
        "members": model.members,
        "value_range": list(model.value_range),
        "sharpness": model.sharpness,
        "layout": layout.to_dict(),
    }


def model_from(tensors: dict[str, Tensor], header: dict[str, Any]) -> tuple[DiscreteTransformer, Layout]:
    """Inverse of `model_tensors` and `model_header`."""
    architecture = Architecture(**header["architecture"])
    low, high = header["value_range"]
    dtype = tensors["model.head"].dtype
    sharpness = float(header.get("sharpness", EQUALITY_SHARPNESS))  # older files do not say
    model = DiscreteTransformer(
        architecture, int(header["members"]), (low, high), dtype=dtype, sharpness=sharpness
    )
    restore(model, tensors)
    return model, Layout.from_dict(header["layout"])


def restore(model: DiscreteTransformer, tensors: dict[str, Tensor]) -> None:
    """Write stored weights and masks into a model of the same shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
        for name in _MASKS:
            getattr(model, name).copy_(tensors[f"mask.{name}"].bool())


def save_loop(path: Path, state: LoopState, header: dict[str, Any]) -> None:
    """A checkpoint in the middle of a rung."""
    tensors = model_tensors(state.model)
    for index, entry in state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in entry.items()}
    tensors |= {f"choices.{i}": choices for i, choices in enumerate(state.choices)}
    tensors |= {f"best.{name}": value for name, value in state.best_weights.items()}
    if state.best_loss is not None:
        tensors["best_loss"] = state.best_loss
    header = {**header, "epoch": state.epoch, "history": [asdict(epoch) for epoch in state.history]}
    write_tensors(path, tensors, header)


def load_loop(path: Path, state: LoopState, recipe: Recipe, expected: dict[str, Any]) -> bool:
    """Continue from a checkpoint of the same rung; False if it belongs to another one."""
    tensors, header = read_tensors(path)
    if any(header.get(key) != value for key, value in expected.items()):
        return False
    try:
        members = len(tensors["model.head"])
        if members < state.model.members:  # some were given up before the checkpoint
            keep_members(state, recipe, list(range(members)))
        _restore_loop(state, tensors, header)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} does not fit this run ({error}); it was left untouched.") from None
    return True


def _restore_loop(state: LoopState, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    restore(state.model, tensors)
    device = state.model.choices.device
    state.epoch = int(header["epoch"])
    state.history[:] = [Epoch(**row) for row in header["history"]]
    state.choices[:] = [tensors[f"choices.{i}"].to(device) for i in range(state.epoch)]
    state.best_weights = {
        name.removeprefix("best."): value.to(device)
        for name, value in tensors.items()
        if name.startswith("best.")
    }
    state.best_loss = tensors["best_loss"].to(device) if "best_loss" in tensors else None
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            moments.setdefault(int(index), {})[key] = value
    fresh = state.optimizer.state_dict()
    state.optimizer.load_state_dict({"state": moments, "param_groups": fresh["param_groups"]})
