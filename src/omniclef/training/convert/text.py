"""The text tower's graph from the published weights of all-MiniLM-L6-v2 (Apache-2.0). Needs the extra [torch]."""

from __future__ import annotations

import warnings
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn
from transformers import BertModel

__all__ = ["export_text"]


class _Rows(nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        rows: Tensor = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return rows


def export_text(folder: Path, scratch: Path) -> onnx.ModelProto:
    """Graph ``ids``, ``mask`` [N, T] int64 to ``rows`` [N, T, 384] float32.

    Args:
        folder: config.json and model.safetensors of the encoder.
        scratch: where the exporter may write.
    """
    # The written-out attention is what onnxruntime recognises and fuses.
    encoder = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager").eval()
    sample = torch.ones(2, 8, dtype=torch.int64)
    axes = {0: "records", 1: "tokens"}
    path = scratch / "text.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer warns about shapes that are dynamic below
        torch.onnx.export(
            _Rows(encoder),
            (sample, sample),
            str(path),
            input_names=["ids", "mask"],
            output_names=["rows"],
            dynamic_axes={"ids": axes, "mask": axes, "rows": axes},
            opset_version=17,
            dynamo=False,
        )
    return onnx.load(path)
