"""Weights in int8, made from those of a release while it is read.

Knows torchao's tensor of whole numbers with a scale for each output row, and how the parts of a fused tensor lie in the
files. Must not know prompts, records or the head. transformers can call torchao itself, but cannot for Qwen3-Omni, and
its rules pass over experts, which are most of that model.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from accelerate import init_empty_weights
from safetensors import safe_open
from torch import Tensor
from torch.nn import Parameter, ParameterList

from omniclef.errors import InvalidInput, MissingExtra
from omniclef.release import Precision, Release, shrinks, stored

__all__ = ["DTYPES", "fill_int8", "require", "unfilled"]


def _quietly(name: str) -> Any:
    """A module, or None where it is not installed, without what it has to tell while it is imported."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
    finally:
        logging.disable(before)


# Where it is installed, transformers imports it with every model, and it lists each kernel that it could not load.
torchao = _quietly("torchao.quantization")
if torchao is not None:
    _quietly("transformers.quantizers.quantizer_torchao")

DTYPES: dict[Precision, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.bfloat16}
"""What is computed in, and what all that is not int8 is kept in."""


def require(precision: str, device: str) -> None:
    """Whether weights can be had in ``precision`` on ``device``, before any is read.

    Raises:
        InvalidInput: there is no such precision, or no such device here.
        MissingExtra: int8 needs [quantized].
    """
    if precision not in DTYPES:
        raise InvalidInput("precision", f"{precision!r} is not known", f"use {', '.join(DTYPES)}")
    cards = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    usable = ["cpu", *(["mps"] if torch.backends.mps.is_available() else []), *(["cuda", *cards] if cards else [])]
    if device not in usable:
        raise InvalidInput("device", f"torch finds no {device!r} on this machine", f"use {' or '.join(usable)}")
    if precision == "int8" and torchao is None:
        raise MissingExtra("precision int8", "quantized")


def unfilled(kind: Any, config: Any) -> Any:
    """A model of the transformers class ``kind`` whose parameters have no storage yet; its buffers do."""
    with init_empty_weights(include_buffers=False):
        model = kind(config)
    # Only the plain loop over experts takes weights that are no common tensors.
    model.set_experts_implementation("eager")
    return model.requires_grad_(False)


def fill_int8(model: Any, release: Release, device: str) -> Any:
    """Gives ``model`` its weights: those that ``shrinks`` names in int8, the others in bfloat16.

    One matrix is read and rounded at a time, so that nothing is held twice. Experts, which lie in one tensor [E, r, c]
    for all, become a list of E matrices: the loop over them looks them up by number either way.
    """
    files: list[Any] = [safe_open(path, "pt") for path in release.weight_files()]
    places: Mapping[str, Any] = {name: file for file in files for name in file.keys()}  # noqa: SIM118

    def read(name: str) -> Tensor:
        found: Tensor = places[name].get_tensor(name)
        return found.to(device, torch.bfloat16)

    for name, empty in list(model.state_dict().items()):
        parts = [part for part in stored(name, tuple(empty.shape)) if part in release.tensors]
        parent, _, own = name.rpartition(".")
        module = model.get_submodule(parent)
        if empty.ndim == 3 and len(parts) > 1:
            each = len(parts) // len(empty)
            experts = [parts[start : start + each] for start in range(0, len(parts), each)]
            delattr(module, own)
            setattr(module, own, _list((torch.cat([read(part) for part in one]) for one in experts), len(experts)))
        elif parts and shrinks(parts[0], release.tensors[parts[0]]):
            setattr(module, own, Parameter(_rounded(read(parts[0])), requires_grad=False))
        elif parts:
            module.load_state_dict({own: read(parts[0])}, strict=False, assign=True)
    model.tie_weights()  # where there is no output layer of its own, the input embeddings stand for it
    return model.to(device)


def _rounded(matrix: Tensor) -> Any:
    return torchao.Int8Tensor.from_hp(matrix, torchao.PerRow())


def _list(matrices: Iterator[Tensor], count: int) -> ParameterList:
    """Rounded matrices of one shape, ``count`` of them.

    They share their storage: apart, they would lie in memory between the gaps that what they were made from leaves,
    and those are twice their size.
    """
    found: list[Parameter] = []
    storage: list[Tensor] = []
    for number, matrix in enumerate(matrices):
        one = _rounded(matrix)
        pieces = (one.qdata, one.scale, one.zero_point)
        if not storage:
            storage = [piece.new_empty((count, *piece.shape)) for piece in pieces]
        for whole, piece in zip(storage, pieces, strict=True):
            whole[number] = piece
        values, scale, zero = (whole[number] for whole in storage)
        tensor = torchao.Int8Tensor(values, scale, one.block_size, one.dtype, zero_point=zero)
        found.append(Parameter(tensor, requires_grad=False))
    return ParameterList(found)
