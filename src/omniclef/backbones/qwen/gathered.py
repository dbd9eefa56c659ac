"""What the head keeps of a prompt, gathered while the prompt is read in pieces.

Knows where questions and options lie, and the head's norm and first projection. Must not know networks, records or
media. Hidden rows [n, d] of a piece may go once they were added: memory rows are narrower, and means need no rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from omniclef.backbones.qwen.prompt import Prompt
from omniclef.head import JointSchemaHead, pool_rows, pool_spans

__all__ = ["Gathered"]


class Gathered:
    """One prompt of L tokens as far as it was read.

    memory: [L, W], of which the first ``read`` are there.
    """

    def __init__(self, head: JointSchemaHead, prompt: Prompt, table: Tensor) -> None:
        """table: [V, d] output embeddings."""
        weight = head.memory_projection.weight
        self.read = 0
        self.memory = weight.new_empty((len(prompt.tokens), head.config.width))
        self._head = head
        self._asked = len(prompt.questions)
        self._spans = torch.tensor([*prompt.questions, *prompt.options], device=weight.device)
        self._means = weight.new_zeros((len(self._spans), head.config.hidden_size))
        self._anchor = self._means.new_zeros(head.config.hidden_size)
        words = [token for start, stop in prompt.options for token in prompt.tokens[start:stop]]
        lengths = self._spans[self._asked :, 1] - self._spans[self._asked :, 0]
        self._lexical = pool_rows(table, torch.tensor(words, device=table.device), lengths)

    def resume(self, memory: Tensor) -> None:
        """Begins with rows of a prefix that no question and no option lies in."""
        self.read = len(memory)
        self.memory[: self.read] = memory

    def add(self, hidden: Tensor) -> None:
        """The next rows [n, d]."""
        start, stop = self.read, self.read + len(hidden)
        hidden = hidden.to(self.memory.dtype)
        normal = self._head.hidden_norm(hidden)
        self.memory[start:stop] = self._head.memory_projection(normal)
        # A span that goes on in the next piece is a mean of means, each by its share.
        inside = self._spans.clamp(start, stop) - start
        counts = inside[:, 1] - inside[:, 0]
        touched = counts.nonzero()[:, 0]
        if len(touched):
            shares = counts / (self._spans[:, 1] - self._spans[:, 0])
            self._means[touched] += pool_spans(normal, inside[touched]) * shares[touched, None].to(normal.dtype)
        self._anchor = hidden[-1].clone()
        self.read = stop

    def arrays(self) -> dict[str, Any]:
        """Of a ``Prefill``, when all was read."""
        found = {
            "memory": self.memory,
            "anchor": self._anchor,
            "questions": self._means[: self._asked],
            "options": self._means[self._asked :],
            "lexical": self._lexical,
        }
        return {name: tensor.float().cpu().numpy() for name, tensor in found.items()}
