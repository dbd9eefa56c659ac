"""The joint schema head: two-stage routing from hidden rows to one logit per option, for every backbone.

Knows rows, spans, owners and types. Must not know prompts, tokenizers, media, files of a release, HTTP, or
what a probability is. Needs the extra [torch]; the exported graph runs without it
(``backbones/nano/head.py``).

Stage 1 lets every option gather evidence from memory, stage 2 lets the fields (questions) read their options,
each other and memory; an option's logit is the lexical prior plus a gated joint score. B records, L memory
rows, Q questions, O options of all questions together, d hidden size, W width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from omniclef.backbones.base import Prefill, Scores
from omniclef.backbones.padding import batches, pad, unpad
from omniclef.errors import InvalidInput

__all__ = [
    "HeadConfig",
    "JointSchemaHead",
    "TorchHead",
    "from_hidden",
    "pool_rows",
    "pool_spans",
]

LARGEST_SCALE = math.log(100.0)


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """``joint_head_config.json``. ``hidden_size`` is d and follows the backbone, ``width`` is W."""

    hidden_size: int
    width: int
    routing_layers: int
    layers: int
    heads: int
    feedforward: int
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise InvalidInput(
                "joint_head_config.heads",
                f"{self.heads} heads do not divide width {self.width}",
                "use a divisor of the width",
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> HeadConfig:
        """Reads the parsed file; keys it does not know are left alone. Raises ``InvalidInput`` for a missing
        one.
        """
        known = {f.name for f in fields(cls)}
        missing = sorted(known - {"dropout"} - set(values))
        if missing:
            raise InvalidInput("joint_head_config", f"lacks {', '.join(missing)}", "use the file of the release")
        return cls(**{key: value for key, value in values.items() if key in known})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Mask:
    """Which rows of a memory may be attended to.

    bias:    [B, 1, 1, L], 0 for a row and very low for padding, which then weighs exactly 0
    present: [B, 1, 1], 0 where a record has no row at all: its attention reads zeros instead of padding

    Both are None where nothing is padded: torch's attention is faster without a bias than with one of zeros.
    """

    bias: Tensor | None = None
    present: Tensor | None = None

    @classmethod
    def of(cls, rows: Tensor, dtype: torch.dtype) -> _Mask:
        if not torch.onnx.is_in_onnx_export() and bool(rows.all()):
            return cls()
        kept = rows.to(dtype)
        # Finite, as a softmax over nothing but -inf is NaN; halved, so that no score can make it overflow.
        bias = (1.0 - kept) * (torch.finfo(dtype).min / 2)
        return cls(bias[:, None, None, :], kept.amax(dim=1)[:, None, None])

    def hide(self, scores: Tensor) -> Tensor:
        """[B, heads, N, L] with what is padding made very low."""
        return scores if self.bias is None else scores + self.bias

    def clear(self, rows: Tensor) -> Tensor:
        """[B, N, ...] with the records that have no memory made zero."""
        return rows if self.present is None else rows * self.present


Seen: TypeAlias = Tensor | tuple[Tensor, Tensor]
"""Memory as an attention reads it: its rows [B, L, W], or keys and values [B, heads, L, W / heads] each."""


class Attention(nn.Module):  # type: ignore[misc]
    """Multi-head attention with the tensor names of ``torch.nn.MultiheadAttention``."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.width = width  # a number, where a shape would be traced into the exported graph
        self.heads = heads
        self.dropout = dropout
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def _split(self, rows: Tensor) -> Tensor:
        """[B, N, W] to [B, heads, N, W / heads]."""
        shape = (rows.shape[0], rows.shape[1], self.heads, self.width // self.heads)
        return rows.view(shape).transpose(1, 2)

    def prepare(self, memory: Tensor, readers: int) -> Seen:
        """Memory [B, L, W] in the form that is cheaper for ``readers`` queries a record.

        Keys and values cost 4 L W W operations and 4 N L W to read. Rows as they are cost 4 N W W, to take the
        queries through the key weights and what was read through the value weights, and 4 N L W per head. A
        margin of two, as the second form also holds its scores.
        """
        length = memory.shape[1]
        few = 2 * readers * ((self.heads - 1) * length + self.width) < length * self.width
        if few and not (self.training or torch.onnx.is_in_onnx_export()):
            return memory
        weight, bias = self.in_proj_weight[self.width :], self.in_proj_bias[self.width :]
        keys, values = F.linear(memory, weight, bias).split(self.width, dim=-1)
        return self._split(keys), self._split(values)

    def forward(
        self, queries: Tensor, memory: Seen, mask: _Mask, weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """[B, N, W] queries over what ``prepare`` gave: what they read [B, N, W], and on request the weights
        [B, N, L].

        The weights are means over the heads; a row sums to 1, or to 0 where a record has no memory.
        """
        weight, bias = self.in_proj_weight[: self.width], self.in_proj_bias[: self.width]
        split = self._split(F.linear(queries, weight, bias))
        shares = None
        if isinstance(memory, Tensor):
            read, shares = self._read_rows(split, memory, mask)
        elif weights or torch.onnx.is_in_onnx_export():
            keys, values = memory
            scores = (split * (self.width // self.heads) ** -0.5) @ keys.transpose(-1, -2)
            shares = mask.hide(scores).softmax(dim=-1)
            read = F.dropout(shares, self.dropout, self.training) @ values
        else:
            keys, values = memory
            dropout = self.dropout if self.training else 0.0
            read = F.scaled_dot_product_attention(split, keys, values, attn_mask=mask.bias, dropout_p=dropout)
        merged = read.transpose(1, 2).reshape(queries.shape)
        mean = mask.clear(shares.mean(dim=1)) if weights and shares is not None else None
        return self.out_proj(mask.clear(merged)), mean

    def _read_rows(self, split: Tensor, memory: Tensor, mask: _Mask) -> tuple[Tensor, Tensor]:
        """What queries [B, heads, N, W / heads] read from rows [B, L, W], and their shares [B, heads, N, L].

        q (K m + b) is (q K) m + q b, and a softmax does not see q b, which is the same for every row; shares
        sum to 1, so that the mean of V m + c is V (mean of m) + c.
        """
        size = self.width // self.heads
        weights = self.in_proj_weight[self.width :].view(2, self.heads, size, self.width)
        asked = (split * size**-0.5) @ weights[0]
        scores = asked.flatten(1, 2) @ memory.transpose(1, 2)
        shares = mask.hide(scores.unflatten(1, asked.shape[1:3])).softmax(dim=-1)
        found = (shares.flatten(1, 2) @ memory).view(asked.shape)
        bias = self.in_proj_bias[2 * self.width :].view(self.heads, 1, size)
        return found @ weights[1].transpose(1, 2) + bias, shares


class EvidenceLayer(nn.Module):  # type: ignore[misc]
    """One layer of stage 1: options read memory and do not see each other."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.query_norm = nn.LayerNorm(config.width)
        self.memory_norm = nn.LayerNorm(config.width)
        self.attention = Attention(config.width, config.heads, config.dropout)
        self.attention_dropout = nn.Dropout(config.dropout)
        self.feedforward_norm = nn.LayerNorm(config.width)
        self.feedforward = nn.Sequential(
            nn.Linear(config.width, config.feedforward),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.feedforward, config.width),
            nn.Dropout(config.dropout),
        )

    def prepare(self, memory: Tensor, readers: int) -> Seen:
        return self.attention.prepare(self.memory_norm(memory), readers)

    def forward(self, rows: Tensor, memory: Seen, mask: _Mask, weights: bool) -> tuple[Tensor, Tensor | None]:
        read, mean = self.attention(self.query_norm(rows), memory, mask, weights)
        rows = rows + self.attention_dropout(read)
        return rows + self.feedforward(self.feedforward_norm(rows)), mean


class FieldLayer(nn.Module):  # type: ignore[misc]
    """One layer of stage 2: ``torch.nn.TransformerDecoderLayer`` with norm first, exact GELU, and padding."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config.width, config.heads, config.dropout)
        self.multihead_attn = Attention(config.width, config.heads, config.dropout)
        self.linear1 = nn.Linear(config.width, config.feedforward)
        self.linear2 = nn.Linear(config.feedforward, config.width)
        self.norm1 = nn.LayerNorm(config.width)
        self.norm2 = nn.LayerNorm(config.width)
        self.norm3 = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, rows: Tensor, rows_mask: _Mask, memory: Tensor, memory_mask: _Mask) -> Tensor:
        normal = self.norm1(rows)
        readers = rows.shape[1]
        own = self.self_attn.prepare(normal, readers)
        rows = rows + self.dropout(self.self_attn(normal, own, rows_mask)[0])
        seen = self.multihead_attn.prepare(memory, readers)
        rows = rows + self.dropout(self.multihead_attn(self.norm2(rows), seen, memory_mask)[0])
        inner = self.dropout(F.gelu(self.linear1(self.norm3(rows))))
        return rows + self.dropout(self.linear2(inner))


class JointSchemaHead(nn.Module):  # type: ignore[misc]
    """The head with the tensor names of ``joint_head.safetensors``: a release loads with ``strict=True``."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        hidden, width = config.hidden_size, config.width
        self.hidden_norm = nn.LayerNorm(hidden)
        self.memory_projection = nn.Linear(hidden, width, bias=False)
        self.question_projection = nn.Linear(hidden, width, bias=False)
        self.option_question_projection = nn.Linear(hidden, width, bias=False)
        self.global_projection = nn.Linear(hidden, width, bias=False)
        self.option_context_projection = nn.Linear(hidden, width, bias=False)
        self.option_lexical_projection = nn.Linear(hidden, width, bias=False)
        self.type_embedding = nn.Embedding(3, width)
        self.evidence_layers = nn.ModuleList(EvidenceLayer(config) for _ in range(config.routing_layers))
        self.option_summary_norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(FieldLayer(config) for _ in range(config.layers))
        self.field_norm = nn.LayerNorm(width)
        self.option_norm = nn.LayerNorm(width)
        self.residual_scorer = nn.Sequential(
            nn.Linear(4 * width, width), nn.GELU(), nn.Dropout(config.dropout), nn.Linear(width, 1)
        )
        self.prior_logit_scale = nn.Parameter(torch.zeros(()))
        self.joint_logit_scale = nn.Parameter(torch.zeros(()))
        self.residual_gate = nn.Parameter(torch.zeros(()))

    def forward(
        self,
        memory: Tensor,
        memory_mask: Tensor,
        anchor: Tensor,
        questions: Tensor,
        question_mask: Tensor,
        options: Tensor,
        lexical: Tensor,
        owners: Tensor,
        types: Tensor,
        attention: bool = False,
        chunk: int | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Logits [B, O], and on request the last routing layer's attention [B, O, L], a mean over heads.

        memory [B, L, d] and anchor [B, d] are raw rows, questions [B, Q, d] and options [B, O, d] means over
        rows that went through ``hidden_norm``, lexical [B, O, d] output-embedding rows. memory_mask [B, L]
        and question_mask [B, Q] are False on padding; owners [B, O] is the question of an option, -1 on
        padding; types [B, Q] is 0, 1 or 2. Logits and attention of padded options mean nothing. ``chunk``
        bounds how many options of a record are routed and scored at a time, which bounds memory and changes
        nothing else.
        """
        rows = self.project(memory)
        summit = self.hidden_norm(anchor)
        return self.decide(
            rows,
            memory_mask,
            summit,
            questions,
            question_mask,
            options,
            lexical,
            owners,
            types,
            attention,
            chunk,
        )

    def prior(self, anchor: Tensor, questions: Tensor, lexical: Tensor, owners: Tensor) -> Tensor:
        """The lexical prior alone [B, O], from the inputs of ``forward``, as it is before any training.

        The anchor is normalised without the learned gain: that belongs to the joint part it was trained with.
        """
        every = torch.arange(questions.shape[1], device=owners.device)
        belongs = (owners.unsqueeze(2) == every).to(lexical.dtype)
        plain = F.layer_norm(anchor, (self.config.hidden_size,))
        return self._prior(lexical, questions + plain.unsqueeze(1), belongs)

    def project(self, hidden: Tensor) -> Tensor:
        """Raw rows [..., d] to memory rows [..., W]: all that the head keeps of a prompt, row by row."""
        projected: Tensor = self.memory_projection(self.hidden_norm(hidden))
        return projected

    def decide(
        self,
        memory: Tensor,
        memory_mask: Tensor,
        anchor: Tensor,
        questions: Tensor,
        question_mask: Tensor,
        options: Tensor,
        lexical: Tensor,
        owners: Tensor,
        types: Tensor,
        attention: bool = False,
        chunk: int | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """``forward`` on memory rows [B, L, W] of ``project`` and an anchor [B, d] after ``hidden_norm``."""
        if memory.shape[1] == 0:
            memory, memory_mask = F.pad(memory, (0, 0, 0, 1)), F.pad(memory_mask, (0, 1))
            logits, weights = self.decide(
                memory, memory_mask, anchor, questions, question_mask, options, lexical, owners, types,
                attention, chunk,
            )  # fmt: skip
            return logits, None if weights is None else weights[:, :, :0]
        readable = _Mask.of(memory_mask, memory.dtype)
        asked = _Mask.of(question_mask, memory.dtype)
        # [B, O, Q], 1 where an option belongs to a question: a product with it hands each option the row of
        # its question, exactly, and padding (owner -1) belongs to none.
        every = torch.arange(questions.shape[1], device=owners.device)
        belongs = (owners.unsqueeze(2) == every).to(memory.dtype)
        wanted = self.option_question_projection(questions)
        routed, weights = self._route(memory, readable, wanted, options, lexical, belongs, attention, chunk)
        base = self.question_projection(questions)
        field = base + self.option_summary_norm(self._summary(base, routed, belongs))
        field = field + self.global_projection(anchor).unsqueeze(1) + self.type_embedding(types)
        for layer in self.layers:
            field = layer(field, asked, memory, readable)
        field = self.field_norm(field)
        prior = self._prior(lexical, questions + anchor.unsqueeze(1), belongs)
        return prior + self.residual_gate.sigmoid() * self._joint(field, routed, belongs, chunk), weights

    def _route(
        self,
        memory: Tensor,
        mask: _Mask,
        wanted: Tensor,
        options: Tensor,
        lexical: Tensor,
        belongs: Tensor,
        attention: bool,
        chunk: int | None,
    ) -> tuple[Tensor, Tensor | None]:
        """Stage 1: options with their evidence [B, O, W], and the last layer's weights [B, O, L]."""
        seen = [layer.prepare(memory, options.shape[1]) for layer in self.evidence_layers]
        parts, shares = [], []
        cut = [_pieces(rows, chunk) for rows in (options, lexical, belongs)]
        for context, words, owner in zip(*cut, strict=True):
            rows = self.option_context_projection(context) + self.option_lexical_projection(words)
            rows = rows + owner @ wanted
            share = None
            for number, layer in enumerate(self.evidence_layers, start=1):
                rows, share = layer(rows, seen[number - 1], mask, attention and number == len(seen))
            parts.append(rows)
            shares.append(share)
        found = [share for share in shares if share is not None]
        return _joined(parts), _joined(found) if found else None

    def _summary(self, base: Tensor, routed: Tensor, belongs: Tensor) -> Tensor:
        """s_i [B, Q, W]: each question's own options, weighted by how well they fit it."""
        scores = base @ routed.transpose(1, 2) * self.config.width**-0.5
        others = (1.0 - belongs.transpose(1, 2)) * (torch.finfo(scores.dtype).min / 2)
        return (scores + others).softmax(dim=-1) @ routed

    def _prior(self, lexical: Tensor, anchors: Tensor, belongs: Tensor) -> Tensor:
        """The lexical grammar [B, O]: scaled cosine of an option's own words with question and global row."""
        cosines = _unit(lexical, 1e-12) @ _unit(anchors, 1e-12).transpose(1, 2)
        return self.prior_logit_scale.clamp(max=LARGEST_SCALE).exp() * (cosines * belongs).sum(dim=-1)

    def _joint(self, field: Tensor, routed: Tensor, belongs: Tensor, chunk: int | None) -> Tensor:
        """Scaled cosine plus learned residual of each option [B, O] with its field."""
        scale = self.joint_logit_scale.clamp(max=LARGEST_SCALE).exp()
        parts = []
        for rows, owner in zip(_pieces(routed, chunk), _pieces(belongs, chunk), strict=True):
            option, mine = self.option_norm(rows), owner @ field
            features = torch.cat([mine, option, mine * option, (mine - option).abs()], dim=-1)
            cosine = (_unit(mine, 1e-8) * _unit(option, 1e-8)).sum(dim=-1)
            parts.append(scale * cosine + self.residual_scorer(features).squeeze(-1))
        return _joined(parts)


def _pieces(rows: Tensor, chunk: int | None) -> Sequence[Tensor]:
    return (rows,) if chunk is None else rows.split(chunk, dim=1)


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts), dim=1)


def _unit(rows: Tensor, eps: float) -> Tensor:
    """Rows of norm 1; ``eps`` is torch's own for normalize (1e-12) and for cosine similarity (1e-8)."""
    return rows / rows.norm(dim=-1, keepdim=True).clamp(min=eps)


def pool_rows(table: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """Means of rows of ``table`` [N, d], for consecutive groups of the indices ``rows``: [len(lengths), d].

    A fused gather: no copy of the gathered rows is made. An empty group gives zeros.
    """
    offsets = lengths.cumsum(0) - lengths
    return F.embedding_bag(rows, table, offsets, mode="mean")


def pool_spans(hidden: Tensor, spans: Tensor) -> Tensor:
    """Means of ``hidden`` [L, d] over ``spans`` [N, 2] (start inclusive, end exclusive): [N, d]."""
    return pool_rows(hidden, _positions(spans), spans[:, 1] - spans[:, 0])


def _positions(spans: Tensor) -> Tensor:
    """Every position that ``spans`` [N, 2] cover, span after span."""
    lengths = spans[:, 1] - spans[:, 0]
    shifts = spans[:, 0] - (lengths.cumsum(0) - lengths)
    return torch.arange(int(lengths.sum()), device=spans.device) + shifts.repeat_interleave(lengths)


def from_hidden(
    head: JointSchemaHead,
    hidden: Tensor,
    token_ids: Tensor,
    embeddings: Tensor,
    question_spans: Tensor,
    option_spans: Tensor,
    owners: Tensor,
    types: Tensor,
) -> dict[str, Tensor]:
    """Inputs of ``head`` for one record (B = 1) of a causal backbone: the last row is the anchor.

    hidden [L, d] final hidden rows without padding, token_ids [L] of the prompt, embeddings [V, d] the output
    embeddings, question_spans [Q, 2] and option_spans [O, 2] in token positions, owners [O], types [Q].
    """
    dtype = head.memory_projection.weight.dtype
    hidden = hidden.to(dtype)
    normal = head.hidden_norm(hidden)
    lengths = option_spans[:, 1] - option_spans[:, 0]
    words = token_ids[_positions(option_spans)]
    inputs = {
        "memory": hidden,
        "memory_mask": torch.ones(len(hidden), dtype=torch.bool, device=hidden.device),
        "anchor": hidden[-1],
        "questions": pool_spans(normal, question_spans),
        "question_mask": torch.ones(len(question_spans), dtype=torch.bool, device=hidden.device),
        "options": pool_spans(normal, option_spans),
        "lexical": pool_rows(embeddings, words, lengths).to(dtype),
        "owners": owners,
        "types": types,
    }
    return {name: value.unsqueeze(0) for name, value in inputs.items()}


class TorchHead:
    """The ``Head`` protocol on a ``JointSchemaHead``, wherever its weights live; sets evaluation mode."""

    CHUNK = 1024
    """Options of a record that are routed at a time: 16 heads and 2,000 rows make weights of 131 MB."""

    def __init__(self, module: JointSchemaHead) -> None:
        self.module = module.eval()

    def __call__(self, prefills: Sequence[Prefill], *, attention: bool = False) -> list[Scores]:
        """Scores in the order of ``prefills``, each as the record would get alone, up to float rounding."""
        scores: dict[int, Scores] = {}
        for group in batches(prefills):
            found = self._batch([prefills[index] for index in group], attention)
            scores.update(zip(group, found, strict=True))
        return [scores[index] for index in range(len(prefills))]

    def _batch(self, prefills: Sequence[Prefill], attention: bool) -> list[Scores]:
        weight = self.module.memory_projection.weight
        inputs = {name: torch.from_numpy(value).to(weight.device) for name, value in pad(prefills).items()}
        inputs = {name: t.to(weight.dtype) if t.is_floating_point() else t for name, t in inputs.items()}
        with torch.inference_mode():
            if prefills[0].projected:  # as all of one backbone are
                normal = {**inputs, "anchor": self.module.hidden_norm(inputs["anchor"])}
                logits, weights = self.module.decide(**normal, attention=attention, chunk=self.CHUNK)
            else:
                logits, weights = self.module(**inputs, attention=attention, chunk=self.CHUNK)
            prior = self.module.prior(*(inputs[n] for n in ("anchor", "questions", "lexical", "owners")))
        shares = None if weights is None else weights.float().cpu().numpy()
        return unpad(prefills, logits.float().cpu().numpy(), shares, prior.float().cpu().numpy())
