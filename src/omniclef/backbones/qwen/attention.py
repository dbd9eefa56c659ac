"""How a language model attends to what it read before, in memory that does not grow with that.

Knows queries, keys and values, and how transformers lets a model attend. Must not know prompts, records or the head.

A piece of n tokens that follows others looks at L keys. transformers names them in a mask of n x L and copies keys and
values for each head that shares them; both grow with what was read. Here heads share through strides, and the mask is
one line of n + L numbers.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from transformers.cache_utils import DynamicLayer

__all__ = ["Room", "attend", "cache", "suit"]

NAME = "omniclef"

DEVICES = ("cpu", "cuda")
"""Where ``attend`` has a kernel; elsewhere transformers attends, with its masks."""


def attend(queries: Tensor, keys: Tensor, values: Tensor, scale: float | None = None) -> Tensor:
    """The last n of L tokens look at themselves and at all before them: [B, H, n, h].

    queries [B, H, n, h]; keys and values [B, G, L, h], each for H / G heads one after another.
    """
    batch, heads, count, size = queries.shape
    groups, length = keys.shape[1:3]
    if queries.device.type != "cpu":
        bias = None if count == length else causal_lower_right(count, length)
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=bias, is_causal=bias is None, scale=scale, enable_gqa=heads > groups
        )
    whole, each = count == length, heads // groups
    split = (queries if whole else queries.flip(2)).reshape(batch * groups, each, count, size)
    key, value = (rows.reshape(batch * groups, 1, length, size).expand(-1, each, -1, -1) for rows in (keys, values))
    mask = None if whole or count == 1 else _backward(count, length, queries)
    read = F.scaled_dot_product_attention(split, key, value, attn_mask=mask, is_causal=whole, scale=scale)
    read = read.reshape(batch, heads, count, size)
    return read if whole else read.flip(2)


def _backward(count: int, length: int, like: Tensor) -> Tensor:
    """[1, 1, n, L] for queries from the last to the first: 0 where a key may be seen.

    Line i lets go of the last i keys, so it is line 0 moved by i, and all of them are windows of one line.
    """
    line = torch.zeros(length + count - 1, dtype=like.dtype, device=like.device)
    line[length:] = -torch.inf
    return line.as_strided((1, 1, count, length), (0, 0, 1, 1))


def _interface(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, scaling: float, **_: Any
) -> tuple[Tensor, None]:
    """``attend`` as transformers calls it. It makes no mask for a name that it knows none of; padding on the right
    needs none."""
    return attend(query, key, value, scaling).transpose(1, 2).contiguous(), None


transformers.AttentionInterface.register(NAME, _interface)


def suit(config: Any, device: torch.device) -> None:
    """Chooses for the language model of ``config`` how it attends and how it goes through its experts."""
    if device.type in DEVICES:
        config._attn_implementation = NAME
    # Weights that are no common tensors need the plain loop, and whoever made them asked for it.
    if device.type == "cpu" and getattr(config, "_experts_implementation", None) == "grouped_mm":
        # Expert by expert: over thousands of tokens that took two thirds of the time of products put together.
        config._experts_implementation = "eager"


class Room(DynamicLayer):  # type: ignore[misc]
    """Keys and values [1, G, L, h] in memory taken once: joined piece by piece, they would be there twice each time."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.space: tuple[Tensor, ...] = ()

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        new = (key_states, value_states)
        if not self.is_initialized:
            self.lazy_initialization(*new)
            self.space = tuple(rows.new_empty((*rows.shape[:2], self.room, rows.shape[3])) for rows in new)
            start = 0
        else:
            start = self.get_seq_length()
        stop = start + key_states.shape[2]
        for space, rows in zip(self.space, new, strict=True):
            space[:, :, start:stop] = rows
        self.keys, self.values = (space[:, :, :stop] for space in self.space)
        return self.keys, self.values

    def copied(self, room: int) -> Room:
        """The same, with room for ``room`` tokens."""
        copy = Room(room)
        copy.update(self.keys, self.values)
        return copy


def cache(config: Any, room: int) -> Any:
    """transformers' cache of keys and values, or recurrent states, for a prompt of ``room`` tokens."""
    past = transformers.DynamicCache(config=config)
    past.layers = [Room(room) if type(layer) is DynamicLayer else layer for layer in past.layers]
    return past
