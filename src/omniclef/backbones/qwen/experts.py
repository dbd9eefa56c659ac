"""The experts of a language model on a CPU.

Knows their weights and which of them a token goes to. Must not know how that was chosen. transformers' own ways lose
time beside the products: one adds each expert's rows where they belong, one row after another, the other copies the
rows of all experts several times.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

__all__ = ["NAME", "through_experts"]

NAME = "omniclef"


def through_experts(layer: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """Rows [T, d] by the k experts of each, [T, k], weighted [T, k] and added: [T, d].

    Rows of an expert are put side by side, and their products gathered back in one go.
    """
    chosen = top_k_index.flatten()
    order = chosen.argsort(stable=True)
    counts = chosen.bincount(minlength=layer.num_experts).tolist()
    parts = []
    for number, rows in enumerate((order // top_k_index.shape[1]).split(counts)):
        if len(rows):
            both = F.linear(hidden_states.index_select(0, rows), layer.gate_up_proj[number])
            gate, up = both.chunk(2, dim=-1)
            parts.append(F.linear(layer.act_fn(gate) * up, layer.down_proj[number]))
    made = torch.cat(parts)
    found = torch.empty_like(order)
    found[order] = torch.arange(len(order), device=order.device)
    shares = top_k_weights.to(made.dtype)
    return F.embedding_bag(found.view_as(top_k_index), made, per_sample_weights=shares, mode="sum")


ALL_EXPERTS_FUNCTIONS.register(NAME, through_experts)
