"""Small ONNX files that compute in float32: weights stored as float16 or int8 and decoded by nodes of the
graph.

Knows ONNX graphs; knows nothing of what a model computes. onnxruntime folds the decoding nodes when a session
is made, so that a stored model costs load time only and its results do not depend on how a batch is composed,
as they would with arithmetic in float16 or int8.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

__all__ = ["SMALLEST", "compress", "decoded", "save"]

SMALLEST = 1024
"""Tensors with fewer elements stay float32: norms, biases and scales are where rounding hurts and saves
nothing.
"""

How = Literal["fp16", "int8"]
Floats = npt.NDArray[np.float32]


def compress(model: onnx.ModelProto, how: How) -> onnx.ModelProto:
    """A copy of ``model`` whose float32 weights of at least ``SMALLEST`` elements are stored small.

    ``fp16``: round to nearest, then Cast. ``int8``: symmetric, one float32 scale per output channel (per row
    of a table that Gather reads), then Cast and Mul. A weight that several nodes read is decoded once; where
    they would scale different axes, the first one decides. Raises ``ValueError`` if fp16 cannot hold a
    weight.
    """
    small = onnx.ModelProto()
    small.CopyFrom(model)
    for graph in _graphs(small.graph):
        _compress_graph(graph, how)
    return small


def save(model: onnx.ModelProto, path: str | Path) -> int:
    """Checks ``model``, writes it to one file, and returns the file's size in bytes."""
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
    return Path(path).stat().st_size


def decoded(weight: Floats, how: How, axis: int = 0) -> Floats:
    """The float32 values that a stored ``weight`` has after decoding; ``axis`` is its output channel."""
    if how == "fp16":
        return _half(weight, "weight").astype(np.float32)
    codes, scale = _quantise(weight, axis)
    return codes.astype(np.float32) * scale


def _half(weight: Floats, name: str) -> npt.NDArray[np.float16]:
    limit = float(np.finfo(np.float16).max)
    largest = float(np.abs(weight).max())
    if not largest <= limit:
        raise ValueError(f"{name}: {largest:g} is beyond float16's {limit:g}; store it as int8 or float32")
    return weight.astype(np.float16)


def _quantise(weight: Floats, axis: int) -> tuple[npt.NDArray[np.int8], Floats]:
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scale = np.abs(weight).max(axis=others, keepdims=True).astype(np.float32) / np.float32(127)
    safe = np.where(scale == 0, np.float32(1), scale)  # an all-zero channel
    return np.clip(np.rint(weight / safe), -127, 127).astype(np.int8), safe


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _compress_graph(graph: onnx.GraphProto, how: How) -> None:
    _lift_constants(graph)
    axes = _output_axes(graph)
    stored: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []
    for tensor in graph.initializer:
        size = int(np.prod(tensor.dims))
        if tensor.data_type != onnx.TensorProto.FLOAT or size < SMALLEST or tensor.name not in axes:
            stored.append(tensor)
            continue
        name, weight = tensor.name, numpy_helper.to_array(tensor)
        if how == "fp16":
            stored.append(numpy_helper.from_array(_half(weight, name), f"{name}.fp16"))
            nodes.append(helper.make_node("Cast", [f"{name}.fp16"], [name], to=onnx.TensorProto.FLOAT))
            continue
        codes, scale = _quantise(weight, axes[name] % weight.ndim)
        stored.append(numpy_helper.from_array(codes, f"{name}.int8"))
        stored.append(numpy_helper.from_array(scale, f"{name}.scale"))
        nodes.append(helper.make_node("Cast", [f"{name}.int8"], [f"{name}.codes"], to=onnx.TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [f"{name}.codes", f"{name}.scale"], [name]))
    nodes.extend(graph.node)
    del graph.initializer[:]
    graph.initializer.extend(stored)
    del graph.node[:]
    graph.node.extend(nodes)


def _lift_constants(graph: onnx.GraphProto) -> None:
    """Turns Constant nodes that hold a tensor into initializers, so that a weight is found wherever it is
    kept.
    """
    kept = []
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensor = graph.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)


def _output_axes(graph: onnx.GraphProto) -> dict[str, int]:
    """For each initializer that a node reads, the axis to scale: its reader's output channel."""
    axes: dict[str, int] = {}
    for node in reversed(graph.node):  # backwards, so that the first reader is the last word
        for position, name in enumerate(node.input):
            seen_through = node.op_type == "Identity" and node.output[0] in axes
            axes[name] = axes[node.output[0]] if seen_through else _output_axis(node, position)
    return axes


def _output_axis(node: onnx.NodeProto, position: int) -> int:
    integers = onnx.AttributeProto.INT
    flags = {attribute.name: attribute.i for attribute in node.attribute if attribute.type == integers}
    match node.op_type:
        case "MatMul":
            return -1 if position == 1 else -2
        case "Gemm":
            transposed = bool(flags.get("transB" if position == 1 else "transA", 0))
            return 0 if transposed == (position == 1) else 1
        case "ConvTranspose":
            return 1
        case _:  # Conv [out, in, ...], a Gather's table [row, ...], a Transpose of [out, in] before MatMul
            return 0
