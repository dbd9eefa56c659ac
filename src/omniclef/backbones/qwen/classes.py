"""The transformers classes behind a release: made from its configuration, filled from its files, run for hidden rows.

Knows module names of the two architectures under the supported versions of transformers. Must not know prompts,
records or the head. Classes are named here and never looked up by what a folder says, so no code of a release can run.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import transformers
from torch import Tensor

from omniclef.backbones.qwen.attention import cache, suit
from omniclef.backbones.qwen.precision import DTYPES, fill_int8, unfilled
from omniclef.release import Precision, Release

__all__ = ["Network", "architecture", "open_network"]


def architecture(release: Release) -> Any:
    """The model of a release without its weights, on torch's current default device."""
    kind, config = _configured(release)
    return kind(config)


def open_network(release: Release, precision: Precision, device: str) -> Network:
    """Loads the weights of a release straight to ``device``."""
    kind, config = _configured(release)
    if precision == "int8":
        return Network(fill_int8(unfilled(kind, config), release, device), release.omni)
    places = {} if device == "cpu" else {"device_map": {"": device}}
    model = kind.from_pretrained(
        release.folder, config=config, dtype=DTYPES[precision], local_files_only=True, use_safetensors=True, **places
    )
    return Network(model, release.omni)


def _configured(release: Release) -> tuple[Any, Any]:
    values = json.loads(json.dumps(dict(release.config)))  # transformers writes into what it is given
    if not release.omni:
        return transformers.Qwen3_5ForConditionalGeneration, transformers.Qwen3_5Config.from_dict(values)
    config = transformers.Qwen3OmniMoeConfig.from_dict(values)
    config.enable_audio_output = False  # leaves out the talker and its vocoder
    return transformers.Qwen3OmniMoeForConditionalGeneration, config


class Network:
    """One backbone that gives final hidden rows. Takes ``model`` over; ``whole`` lends it back.

    table: [V, d] output embeddings, only ever looked up.
    """

    def __init__(self, model: Any, omni: bool) -> None:
        self.omni = omni
        self._model = model.eval()
        self._top = model.thinker if omni else model
        self._output = self._top.lm_head
        self.table: Tensor = self._output.weight
        # The thinker of transformers 5.19 hands out hidden rows only by way of its output layer.
        self._top.lm_head = torch.nn.Identity()
        # In transformers 5.19 the thinker is its own model, and its ``model`` the language model.
        self._text = getattr(self._top.model, "language_model", self._top.model)
        suit(self._text.config, self.table.device)
        self._counter = self._top.model if hasattr(self._top.model, "rope_deltas") else self._top
        named = inspect.signature(type(self._text).forward).parameters
        self._past = "cache" if "cache" in named else "past_key_values"
        # A pass leaves its positions in the model, where the next one would find another's.
        self._one_at_a_time = threading.Lock()

    @contextmanager
    def whole(self) -> Iterator[Any]:
        """The model with its output layer, to be written. Nothing may be read with it meanwhile."""
        self._top.lm_head = self._output
        try:
            yield self._model
        finally:
            self._top.lm_head = torch.nn.Identity()

    def hidden(self, tokens: Tensor, mask: Tensor, media: Mapping[str, Any]) -> Tensor:
        """Final hidden rows [B, L, d], after the last norm.

        tokens and mask: [B, L]; padding stands on the right, where causal attention keeps it from every real row.
        media: tensors by their names in the model's forward, the media of all records one after another.
        """
        with self._one_at_a_time:
            return self._forward(tokens, mask, media, {"use_cache": False})

    def begun(self, tokens: Tensor, media: Mapping[str, Any], room: int) -> tuple[Tensor, Any, int]:
        """One prompt [1, L] of ``room`` tokens in all, read up to where it can be read on from; its media have to be
        among ``tokens``. Gives rows [L, d], what ``read_on`` takes as the past, and the position of the next token.
        """
        past = cache(self._text.config, room)
        with self._one_at_a_time:
            kept = {"use_cache": True, self._past: past}
            rows = self._forward(tokens, torch.ones_like(tokens), media, kept)[0]
            # Pictures and clips are counted in three dimensions, and take fewer positions than tokens.
            shift = self._counter.rope_deltas if media else None
        return rows, past, len(rows) + (0 if shift is None else int(shift))

    def read_on(self, tokens: Tensor, past: Any, position: int) -> Tensor:
        """Rows [n, d] of text [n] that follows what ``past`` holds. Writes into ``past``."""
        count = len(tokens)
        places = torch.arange(position, position + count, device=tokens.device).expand(3, 1, count)
        with self._one_at_a_time:
            found = self._text(input_ids=tokens[None], position_ids=places, use_cache=True, **{self._past: past})
        rows: Tensor = found.last_hidden_state[0]
        return rows

    def _forward(self, tokens: Tensor, mask: Tensor, media: Mapping[str, Any], options: Mapping[str, Any]) -> Tensor:
        given = {name: self._typed(value) for name, value in media.items()} | dict(options)
        if self.omni:
            rows: Tensor = self._top(input_ids=tokens, attention_mask=mask, output_router_logits=False, **given).logits
            return rows
        # Without media the language model alone counts plain positions, and the towers stay out of it.
        body = self._top.model if media else self._text
        rows = body(input_ids=tokens, attention_mask=mask, **given).last_hidden_state
        return rows

    def _typed(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        kind = self.table.dtype if value.is_floating_point() and value.ndim > 1 else value.dtype
        return value.to(self.table.device, kind)
