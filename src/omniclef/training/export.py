"""The joint schema head as an ONNX graph, for runtimes without torch.

Knows the signature of ``JointSchemaHead.forward`` and what the tracer writes for it; knows nothing of how the
weights came about or where the file goes in a model.
"""

from __future__ import annotations

import io
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from omniclef.head import HeadConfig, JointSchemaHead

__all__ = ["OPSET", "export_head"]

OPSET = 20
"""The first opset with both LayerNormalization (17) and Gelu (20) as one node each."""

INPUT_AXES = {
    "memory": {0: "B", 1: "L"},
    "memory_mask": {0: "B", 1: "L"},
    "anchor": {0: "B"},
    "questions": {0: "B", 1: "Q"},
    "question_mask": {0: "B", 1: "Q"},
    "options": {0: "B", 1: "O"},
    "lexical": {0: "B", 1: "O"},
    "owners": {0: "B", 1: "O"},
    "types": {0: "B", 1: "Q"},
}
OUTPUT_AXES = {
    "logits": {0: "B", 1: "O"},
    "attention": {0: "B", 1: "O", 2: "L"},
    "prior": {0: "B", 1: "O"},
}


class _Outputs(nn.Module):  # type: ignore[misc]
    """The head with everything that a graph gives back."""

    def __init__(self, head: JointSchemaHead) -> None:
        super().__init__()
        self.head = head

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        named = dict(zip(INPUT_AXES, inputs, strict=True))
        logits, attention = self.head(*inputs, attention=True)
        given = (named[name] for name in ("anchor", "questions", "lexical", "owners"))
        return logits, attention, self.head.prior(*given)


def export_head(head: JointSchemaHead, path: str | Path) -> None:
    """Writes ``head`` as an ONNX graph with the inputs of ``JointSchemaHead.forward`` and three outputs.

    ``logits`` [B, O], ``attention`` [B, O, L] and ``prior`` [B, O]; a runner that asks for logits alone need not pay
    for the others. B, L (at least 1), Q and O are free. Weights are stored as float32; ``training/storage.py`` makes
    them small.
    """
    hidden = head.config.hidden_size
    # All different: the tracer takes equal sizes for one.
    sizes = {"B": 2, "L": 5, "Q": 3, "O": 7}
    example = []
    for name, axes in INPUT_AXES.items():
        shape = [sizes[axis] for axis in axes.values()]
        if name in ("owners", "types"):
            example.append(torch.zeros(shape, dtype=torch.int64))
        elif name.endswith("mask"):
            example.append(torch.ones(shape, dtype=torch.bool))
        else:
            example.append(torch.zeros(*shape, hidden))
    module = _Outputs(deepcopy(head).cpu().float().eval())
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # The tracer warns of each size it compares; its successor needs one more dependency.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(example),
            buffer,
            input_names=list(INPUT_AXES),
            output_names=list(OUTPUT_AXES),
            dynamic_axes=INPUT_AXES | OUTPUT_AXES,
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    _tidy(model.graph, head.config)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))


def _tidy(graph: onnx.GraphProto, config: HeadConfig) -> None:
    """Gives every Reshape a constant shape (0 copies a size), and drops what measured it.

    Heads are split and merged, nothing else is reshaped; each traced shape costs five nodes that a small
    record would spend more time in than in its attention. Copies of constants go too.
    """
    makers = {output: node.op_type for node in graph.node for output in node.output}
    shapes = {
        "heads.split": [0, 0, config.heads, config.width // config.heads],
        "heads.merge": [0, 0, config.width],
    }
    for name, shape in shapes.items():
        graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), name))
    for node in graph.node:
        if node.op_type == "Reshape":
            node.input[1] = "heads.merge" if makers[node.input[0]] == "Transpose" else "heads.split"
    copies = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity"}
    for node in graph.node:
        node.input[:] = [copies.get(name, name) for name in node.input]
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    kept_initializers = [tensor for tensor in graph.initializer if tensor.name in needed]
    del graph.initializer[:]
    graph.initializer.extend(kept_initializers)
    del graph.value_info[:]  # the tracer's guesses for nodes that are gone
