"""Attention over what was read before: each token sees itself and all before it, and nothing is copied for that."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from omniclef.backbones.qwen.attention import Room, attend

HEADS, SHARED, SIZE = 8, 2, 16


def rows(batch: int, heads: int, count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(batch, heads, count, SIZE, generator=torch.Generator().manual_seed(count)).to(dtype)


def plainly(queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """By the formula, a token at a time."""
    keys, values = (found.repeat_interleave(HEADS // SHARED, dim=1).double() for found in (keys, values))
    count, length = queries.shape[2], keys.shape[2]
    read = []
    for number in range(count):
        seen = length - count + number + 1
        scores = scale * torch.einsum("bhd,bhld->bhl", queries[:, :, number].double(), keys[:, :, :seen])
        read.append(torch.einsum("bhl,bhld->bhd", scores.softmax(-1), values[:, :, :seen]))
    return torch.stack(read, dim=2)


@pytest.mark.parametrize(("count", "length"), [(1, 1), (1, 40), (7, 7), (7, 40), (300, 300), (300, 1100)])
@pytest.mark.parametrize("batch", [1, 3])
def test_the_last_tokens_of_many(count: int, length: int, batch: int) -> None:
    queries, keys, values = rows(batch, HEADS, count), rows(batch, SHARED, length), rows(batch, SHARED, length + 1)
    values = values[:, :, 1:]
    found = attend(queries, keys, values, 0.3)
    assert (found - plainly(queries, keys, values, 0.3)).abs().max() <= 2e-6


def test_in_bfloat16() -> None:
    queries, keys = rows(1, HEADS, 20, torch.bfloat16), rows(1, SHARED, 60, torch.bfloat16)
    found = attend(queries, keys, keys, 0.3)
    assert found.dtype == torch.bfloat16
    assert (found - plainly(queries, keys, keys, 0.3)).abs().max() <= 0.02


def test_no_mask_and_no_copy_of_keys_is_made() -> None:
    queries, keys = rows(1, HEADS, 64), rows(1, SHARED, 8192)
    with torch.profiler.profile(profile_memory=True) as seen:
        attend(queries, keys, keys)
    made = [event.self_cpu_memory_usage for event in seen.events()]
    assert 0 < max(made) < keys.nbytes / 4
    assert max(made) < 64 * 8192  # a mask of one byte each


def test_room_holds_what_was_joined() -> None:
    pieces = [rows(1, SHARED, count) for count in (5, 1, 9)]
    room = Room(20)
    for piece in pieces:
        keys, values = room.update(piece, -piece)
    assert room.get_seq_length() == 15
    assert torch.equal(keys, torch.cat(pieces, dim=2))
    assert torch.equal(values, -keys)
    copy = room.copied(16)
    copy.update(rows(1, SHARED, 1), rows(1, SHARED, 1))
    assert (room.get_seq_length(), copy.get_seq_length()) == (15, 16)
    assert torch.equal(copy.keys[:, :, :15], room.keys)
