"""Weights stored small: decoded at load, exact, and computed with in float32."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from omniclef.training.storage import SMALLEST, compress, decoded, save

How = Literal["fp16", "int8"]
BOTH = pytest.mark.parametrize("how", ["fp16", "int8"])

CHANNEL = {
    "table": 0,
    "conv": 0,
    "conv1d": 0,
    "gemm": 0,
    "gemm_plain": 1,
    "matmul": 1,
    "twice": 1,
    "constant": 1,
}
"""Output channel of each weight of ``network``: axes of which the values share one scale."""


def network() -> onnx.ModelProto:
    """A table, MatMuls (two over one weight), Gemm both ways, a weight in a Constant node; and Convs."""
    rng = np.random.default_rng(0)
    shapes = {
        "table": (60, 32),
        "matmul": (32, 48),
        "twice": (48, 48),
        "gemm": (40, 48),
        "gemm_plain": (40, 36),
        "constant": (36, 40),
        "conv": (16, 8, 3, 3),
        "conv1d": (24, 16, 3),
        "bias": (40,),
    }
    values = {}
    for name, shape in shapes.items():
        spread = np.exp(rng.standard_normal(shape[0])).reshape(-1, *[1] * (len(shape) - 1))
        values[name] = (rng.standard_normal(shape) * spread).astype(np.float32)
    values["matmul"][:, 3] = 0  # a channel with nothing in it
    nodes = [
        helper.make_node(
            "Constant", [], ["constant"], value=numpy_helper.from_array(values.pop("constant"), "c")
        ),
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "matmul"], ["a"]),
        helper.make_node("MatMul", ["a", "twice"], ["b"]),
        helper.make_node("Relu", ["b"], ["b2"]),
        helper.make_node("MatMul", ["b2", "twice"], ["c"]),
        helper.make_node("Gemm", ["c", "gemm", "bias"], ["e"], transB=1),
        helper.make_node("Gemm", ["e", "gemm_plain"], ["f"]),
        helper.make_node("MatMul", ["f", "constant"], ["text"]),
        helper.make_node("Conv", ["image", "conv"], ["g"], pads=[1, 1, 1, 1]),
        helper.make_node("ReduceMean", ["g", "last"], ["h"], keepdims=0),
        helper.make_node("Conv", ["h", "conv1d"], ["picture"]),
    ]
    initializers = [numpy_helper.from_array(value, name) for name, value in values.items()]
    initializers.append(numpy_helper.from_array(np.array([3], np.int64), "last"))
    graph = helper.make_graph(
        nodes,
        "network",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["N"]),
            helper.make_tensor_value_info("image", TensorProto.FLOAT, ["B", 8, "H", "W"]),
        ],
        [
            helper.make_tensor_value_info("text", TensorProto.FLOAT, ["N", 40]),
            helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["B", 24, "T"]),
        ],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def weights(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return found


def rounded(weight: np.ndarray, how: How, channel: int) -> np.ndarray:
    """What a weight must be worth after storage, worked out on its own."""
    if how == "fp16":
        return weight.astype(np.float16).astype(np.float32)
    rows = np.moveaxis(weight, channel, 0)
    result = np.zeros_like(rows)
    for row, values in enumerate(rows):
        scale = np.float32(np.abs(values).max()) / np.float32(127)
        if scale > 0:
            result[row] = np.round(values / scale) * scale
    return np.moveaxis(result, 0, channel)


def run(path: Path, optimised: Path | None = None) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if optimised is not None:
        options.optimized_model_filepath = str(optimised)
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    image = rng.standard_normal((2, 8, 5, 9)).astype(np.float32)
    return list(session.run(None, {"ids": np.array([3, 59, 3, 17]), "image": image}))


@BOTH
def test_results_equal_a_float32_model_of_the_rounded_weights(how: How, tmp_path: Path) -> None:
    model = network()
    save(compress(model, how), tmp_path / "small.onnx")
    reference = network()
    for tensor in reference.graph.initializer:
        if tensor.name in CHANNEL:
            value = rounded(numpy_helper.to_array(tensor), how, CHANNEL[tensor.name])
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    constant = reference.graph.node[0].attribute[0].t
    constant.CopyFrom(numpy_helper.from_array(rounded(numpy_helper.to_array(constant), how, 1), "c"))
    save(reference, tmp_path / "reference.onnx")
    for found, expected in zip(run(tmp_path / "small.onnx"), run(tmp_path / "reference.onnx"), strict=True):
        np.testing.assert_array_equal(found, expected)


@BOTH
def test_decoding_is_folded_at_load(how: How, tmp_path: Path) -> None:
    save(network(), tmp_path / "whole.onnx")
    save(compress(network(), how), tmp_path / "small.onnx")
    graphs = []
    for name in ("whole", "small"):
        run(tmp_path / f"{name}.onnx", tmp_path / f"{name}.optimised.onnx")
        graphs.append(onnx.load(str(tmp_path / f"{name}.optimised.onnx")).graph)
    operators = [Counter(node.op_type for node in graph.node) for graph in graphs]
    assert operators[0] == operators[1]
    assert operators[1]["Cast"] == 0
    assert all(tensor.data_type != TensorProto.INT8 for tensor in graphs[1].initializer)


@pytest.mark.parametrize(("how", "share"), [("fp16", 0.6), ("int8", 0.4)])
def test_the_file_is_smaller_and_the_results_near(how: How, share: float, tmp_path: Path) -> None:
    whole = save(network(), tmp_path / "whole.onnx")
    small = save(compress(network(), how), tmp_path / "small.onnx")
    assert small == (tmp_path / "small.onnx").stat().st_size
    assert small < share * whole
    for found, expected in zip(run(tmp_path / "small.onnx"), run(tmp_path / "whole.onnx"), strict=True):
        assert np.abs(found - expected).max() < (0.002 if how == "fp16" else 0.05) * np.abs(expected).max()
        assert not np.array_equal(found, expected)


@BOTH
def test_decoded_values(how: How) -> None:
    for name, weight in weights(network()).items():
        if name in CHANNEL:
            channel = CHANNEL[name]
            np.testing.assert_array_equal(decoded(weight, how, channel), rounded(weight, how, channel))


@BOTH
def test_small_tensors_and_integers_stay_as_they_are(how: How) -> None:
    model = network()
    before = model.SerializeToString()
    found = weights(compress(model, how))
    assert model.SerializeToString() == before
    np.testing.assert_array_equal(found["bias"], weights(model)["bias"])
    assert found["last"].dtype == np.int64
    stored = {name.rsplit(".", 1)[0] for name, value in found.items() if value.dtype in (np.float16, np.int8)}
    assert (
        stored == {name for name, value in weights(model).items() if value.size >= SMALLEST} == set(CHANNEL)
    )
    scales = [value.size for name, value in found.items() if name.endswith(".scale")]
    expected = [weights(model)[name].shape[axis] for name, axis in CHANNEL.items()]
    assert sorted(scales) == (sorted(expected) if how == "int8" else [])


def test_a_weight_beyond_float16_is_refused() -> None:
    model = network()
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "gemm")
    value = numpy_helper.to_array(tensor).copy()
    value[0, 0] = 1e5
    tensor.CopyFrom(numpy_helper.from_array(value, "gemm"))
    with pytest.raises(ValueError, match="gemm: 100000 is beyond float16's 65504"):
        compress(model, "fp16")
    compress(model, "int8")
