"""A released backbone as the head wants it: records to prompts, prompts to hidden rows, rows to one prefill each.

Knows the prompt, the network and which pieces to read it in. Must not know probabilities, HTTP or queues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from omniclef.backbones.base import Prefill, RowSource, TokenCount
from omniclef.backbones.nano.cache import Cache
from omniclef.backbones.qwen.classes import Network
from omniclef.backbones.qwen.gathered import Gathered
from omniclef.backbones.qwen.media import Media, MediaReader, joined
from omniclef.backbones.qwen.prefix import Prefix, prefix_key
from omniclef.backbones.qwen.prompt import Prompt, PromptWriter
from omniclef.errors import InvalidInput
from omniclef.head import JointSchemaHead
from omniclef.records import Record, render

__all__ = ["QwenBackbone", "passes"]

TOKENS = 8192
"""Most tokens, padding included, of one forward pass over several records; a longer record goes alone."""

PIECE = 1024
"""Tokens of text that a record which goes alone is read in at a time."""

WORTH = 256
"""Tokens of a prompt up to the end of its state from which on it is remembered."""

PADDING = 1.25
"""Longest prompt of a pass beside its shortest: more would be spent on padding than is won by going together."""


class QwenBackbone:
    """The ``Backbone`` protocol on a released network.

    Args:
        name: of the model, for answers.
        network: gives hidden rows.
        head: the head that memory rows and means are for, on the network's device.
        writer: of prompts.
        media: reader of pictures, sounds and clips, or None where the release has no processor files.
        reads: modalities, for the error of one that is not read.
        remember: bytes of states to keep.
    """

    def __init__(
        self,
        name: str,
        network: Network,
        head: JointSchemaHead,
        tokenizer: object,
        writer: PromptWriter,
        media: MediaReader | None,
        reads: Sequence[str],
        remember: int = 0,
    ) -> None:
        self.name = name
        self.network = network
        self._head = head.eval()
        self._tokenizer = tokenizer
        self.writer = writer
        self.media = media
        self._reads = tuple(reads)
        self._remember = remember
        self._prefixes: Cache[bytes, Prefix] = Cache(remember)

    def prefill(self, records: Sequence[Record], *, truncate: bool = False) -> list[Prefill]:
        """One prefill a record.

        Records of similar length share a forward pass, padded on the right; ``passes`` says which may. A record whose
        state was read before, or is to be remembered, goes alone and in pieces, and so does one that is long: what a
        pass needs besides its rows then stays the same for any length. What is remembered is the prefix of a record
        that comes by itself, or that others of the same call begin with.

        Raises:
            InvalidInput: a prompt is longer than the window (the state alone may be cut with ``truncate``), or a
                record holds a medium that this model does not read.
        """
        read = [self.read(record) for record in records]
        prompts = [
            self.writer.write(record, media.tokens, truncate=truncate)
            for record, media in zip(records, read, strict=True)
        ]
        keys = [self._key(prompt, record) for prompt, record in zip(prompts, records, strict=True)]
        known = self._prefixes.get_many([key for key in keys if key])[0]
        often = Counter(keys)
        prefills: dict[int, Prefill] = {}
        together = []
        for index, (prompt, key) in enumerate(zip(prompts, keys, strict=True)):
            wanted = bool(key) and (key in known or len(records) == 1 or often[key] > 1)
            if wanted or len(prompt.tokens) > TOKENS:
                gathered, cached = self._alone(prompt, read[index], key if wanted else b"")
                prefills[index] = self._prefill(records[index], prompt, read[index], gathered, cached)
            else:
                together.append(index)
        for group in passes([prompts[i] for i in together], [read[i] for i in together]):
            members = [together[place] for place in group]
            rows = self._together([prompts[index] for index in members], [read[index] for index in members])
            for index, gathered in zip(members, rows, strict=True):
                prefills[index] = self._prefill(records[index], prompts[index], read[index], gathered, 0)
        return [prefills[index] for index in range(len(records))]

    def _key(self, prompt: Prompt, record: Record) -> bytes:
        """Of a prefix that is worth remembering, else nothing."""
        stop = prompt.state[1]
        return prefix_key(prompt.tokens[:stop], record) if self._remember and stop >= WORTH else b""

    def _alone(self, prompt: Prompt, media: Media, key: bytes) -> tuple[Gathered, int]:
        """One prompt, read in pieces, and how many of its tokens were read before."""
        tokens = torch.tensor(prompt.tokens, device=self.network.table.device)
        start, stop = prompt.state
        with torch.inference_mode():
            gathered = Gathered(self._head, prompt, self.network.table)
            found = self._prefixes.get_many([key])[0].get(key) if key else None
            cached = stop if found else 0
            if found is None:
                # Media have to be read in one piece; text has not.
                first = start if media.tokens else min(stop, PIECE)
                given = joined([media], [start], first)
                rows, past, position = self.network.begun(tokens[None, :first], given, stop if key else len(tokens))
                gathered.add(rows)
                del rows
                position = self._read_on(gathered, past, position, tokens[:stop])
                if key:
                    found = Prefix(past, gathered.memory[:stop].clone(), position)
                    self._prefixes.put_many({key: found})
            else:
                gathered.resume(found.memory)
            if found is not None:
                past, position = found.opened(len(tokens)), found.position
            self._read_on(gathered, past, position, tokens)
            return gathered, cached

    def _read_on(self, gathered: Gathered, past: Any, position: int, tokens: Tensor) -> int:
        """Reads what follows in ``tokens``. Gives the position of the token after them."""
        for piece in tokens[gathered.read :].split(PIECE):
            if len(piece):  # nothing left is one empty piece
                gathered.add(self.network.read_on(piece, past, position))
                position += len(piece)
        return position

    def count(self, record: Record, *, truncate: bool = False) -> TokenCount:
        """Tokens of ``record`` by modality, without running the network; raises as ``prefill`` does."""
        media = self.read(record)
        return _count(self.writer.write(record, media.tokens, truncate=truncate), media)

    def read(self, record: Record) -> Media:
        """The record's media as tokens and tensors. Raises ``InvalidInput`` for a medium that is not read."""
        for field, modality in (("images", "image"), ("audio", "audio"), ("videos", "video")):
            given = getattr(record, field)
            if given and (modality not in self._reads or self.media is None):
                problem = f"{len(given)} given, {self.name} reads {', '.join(self._reads)}"
                raise InvalidInput(field, problem, "leave them out, or use a model that reads them")
        return Media() if self.media is None else self.media.read(record)

    def _together(self, prompts: Sequence[Prompt], media: Sequence[Media]) -> list[Gathered]:
        """Prompts of one forward pass."""
        device = self.network.table.device
        longest = max(len(prompt.tokens) for prompt in prompts)
        tokens = torch.zeros(len(prompts), longest, dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, prompt in enumerate(prompts):
            tokens[row, : len(prompt.tokens)] = torch.tensor(prompt.tokens)
            mask[row, : len(prompt.tokens)] = 1
        tensors = joined(media, [prompt.state[0] for prompt in prompts], longest)
        with torch.inference_mode():
            hidden = self.network.hidden(tokens.to(device), mask.to(device), tensors)
            found = [Gathered(self._head, prompt, self.network.table) for prompt in prompts]
            for gathered, rows, prompt in zip(found, hidden, prompts, strict=True):
                gathered.add(rows[: len(prompt.tokens)])
        return found

    def _prefill(self, record: Record, prompt: Prompt, media: Media, gathered: Gathered, cached: int) -> Prefill:
        return Prefill(
            **gathered.arrays(),
            owners=np.array(prompt.owners, np.int64),
            types=np.array(prompt.types, np.int64),
            projected=True,
            tokens=_count(prompt, media),
            dropped=prompt.dropped,
            cached=cached,
            sources=self._sources(record, prompt, media),
        )

    def _sources(self, record: Record, prompt: Prompt, media: Media) -> tuple[RowSource, ...]:
        """Where media and state lie among the rows. The rest of the prompt is no evidence."""
        start, stop = prompt.state
        found = media.placed(start - len(media.tokens))
        if stop > start:
            offsets = self._tokenizer(  # type: ignore[operator]
                render(record.state), add_special_tokens=False, return_offsets_mapping=True
            ).offset_mapping
            spans = tuple((float(first), float(last)) for first, last in offsets[: stop - start])
            found = (*found, RowSource("text", 0, start, stop, spans))
        return found


def _count(prompt: Prompt, media: Media) -> TokenCount:
    counts = media.counts
    # What stands between media is text too.
    text = prompt.shares.total - sum(counts.values())
    return TokenCount(text, counts.get("image", 0), counts.get("audio", 0), counts.get("video", 0))


def passes(prompts: Sequence[Prompt], media: Sequence[Media]) -> list[list[int]]:
    """Positions of prompts that go through the network together: of one kind, similar length and ``TOKENS`` in all."""
    order = sorted(range(len(prompts)), key=lambda index: (media[index].kind, len(prompts[index].tokens)))
    groups: list[list[int]] = []
    for index in order:
        length = len(prompts[index].tokens)
        if groups:
            group = groups[-1]
            shortest = len(prompts[group[0]].tokens)
            alike = media[group[0]].kind == media[index].kind and length <= PADDING * shortest
            if alike and length * (len(group) + 1) <= TOKENS:
                group.append(index)
                continue
        groups.append([index])
    return groups
