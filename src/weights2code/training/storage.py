"""Weights and checkpoints on disk: safetensors with a JSON header, written atomically, never executed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from weights2code.data import Layout
from weights2code.errors import InputError
from weights2code.heads import EQUALITY_SHARPNESS
from weights2code.json_values import items, number, whole
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.model.architecture import wiring
from weights2code.model.transformer import parameter_shapes
from weights2code.run_folder import LARGEST_TENSORS, read_file, write_atomically
from weights2code.training.loop import Epoch, LoopState, keep_members
from weights2code.training.recipes import Recipe

_MASKS = ("choice_mask", "variable_mask", "start_mask", "offset_mask")


def write_tensors(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, save(plain, {"weights2code": json.dumps(header)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header; a file that is not whole is refused and left as it is."""
    content = read_file(path, LARGEST_TENSORS)
    try:
        tensors = load(content)
        size = int.from_bytes(content[:8], "little")  # then a JSON header of that size: the format's own
        texts = json.loads(content[8 : 8 + size])["__metadata__"]
        return tensors, dict(json.loads(texts["weights2code"]))
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
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
    architecture = Architecture.from_dict(header["architecture"])
    members = whole(header["members"], "members", least=1)
    low, high = (float(number(end, "value_range")) for end in items(header["value_range"], "value_range", 2))
    dtype = tensors["model.head"].dtype
    # before a model is made: sizes that its tensors do not have must cost nothing
    for name, shape in parameter_shapes(architecture, wiring(architecture)).items():
        found = tensors[f"model.{name}"]
        if tuple(found.shape) != (members, *shape) or found.dtype not in (torch.float32, torch.float64):
            raise ValueError(f"{name} is {found.dtype} of shape {tuple(found.shape)}")
    sharpness = float(
        number(header.get("sharpness", EQUALITY_SHARPNESS), "sharpness")
    )  # older files do not say
    model = DiscreteTransformer(architecture, members, (low, high), dtype=dtype, sharpness=sharpness)
    restore(model, tensors)
    return model, Layout.from_dict(header["layout"])


def restore(model: DiscreteTransformer, tensors: dict[str, Tensor]) -> None:
    """Write stored weights and masks into a model of the same shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(_of_shape(tensors, f"model.{name}", parameter))
        for name in _MASKS:
            mask = getattr(model, name)
            mask.copy_(_of_shape(tensors, f"mask.{name}", mask).bool())
    for row, choice in enumerate(model.wiring.choices):
        allowed = model.choice_mask[:, row]
        if allowed[:, choice.options :].any() or not allowed.any(1).all():
            raise ValueError(f"a choice of {choice.module} has no option, or one that is not there")


def finite_members(model: DiscreteTransformer) -> list[bool]:
    """Whether all weights of each member are numbers."""
    weights = [parameter.flatten(1) for parameter in model.parameters()]
    return torch.cat(weights, 1).isfinite().all(1).tolist()


def _of_shape(tensors: dict[str, Tensor], name: str, like: Tensor) -> Tensor:
    """The tensor of that name, which must not be stretched to fit."""
    if tensors[name].shape != like.shape:
        raise ValueError(f"{name} has shape {tuple(tensors[name].shape)}, not {tuple(like.shape)}")
    return tensors[name]


def save_loop(path: Path, state: LoopState, header: dict[str, Any]) -> None:
    """A checkpoint in the middle of a rung."""
    tensors = model_tensors(state.model)
    for index, entry in state.optimizer.moments().items():
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
        members = whole(len(tensors["model.head"]), "members", least=1)
        if members < state.model.members:  # some were given up before the checkpoint
            keep_members(state, recipe, list(range(members)))
        _restore_loop(state, tensors, header)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} does not fit this run ({error}); it was left untouched.") from None
    return True


def _restore_loop(state: LoopState, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    restore(state.model, tensors)
    device = state.model.choices.device
    state.epoch = whole(header["epoch"], "the epoch")
    state.history[:] = [Epoch.from_dict(row) for row in items(header["history"], "the history")]
    if len(state.history) != state.epoch:
        raise ValueError(f"epoch {state.epoch} has a history of {len(state.history)}")
    chosen = state.model.hard_choices()
    state.choices[:] = [_of_shape(tensors, f"choices.{i}", chosen).to(device) for i in range(state.epoch)]
    state.best_loss, state.best_weights = None, {}
    if "best_loss" in tensors:
        state.best_loss = _of_shape(tensors, "best_loss", state.model.head[:, 0, 0]).to(device)
        state.best_weights = {
            name: _of_shape(tensors, f"best.{name}", value).to(device)
            for name, value in state.model.state_dict().items()
        }
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            moments.setdefault(int(index), {})[key] = value
    parameters = state.optimizer.parameters
    if not set(moments) <= set(range(len(parameters))):  # what is solved for and not learned has none
        raise ValueError("the moments are not those of its parameters")
    for index, entry in moments.items():
        for key, value in entry.items():
            if value.shape != (parameters[index].shape if key.startswith("exp") else ()):
                raise ValueError(f"the moment {key} has shape {tuple(value.shape)}")
        if set(entry) != {"step", "exp_avg", "exp_avg_sq"}:
            raise ValueError("a moment is missing")
    state.optimizer.remember(moments)
