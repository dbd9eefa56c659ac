"""The wires: how each API puts a question, an answer and an error. One file each; none knows of HTTP or of tensors."""

from omniclef.server.wires.base import Asked, Call, Reply, Terms, Wire
from omniclef.server.wires.decisions import Decisions
from omniclef.server.wires.openrouter import OpenRouter
from omniclef.server.wires.systemone import SystemOne
from omniclef.server.wires.workers_ai import WorkersAI

__all__ = ["Asked", "Call", "Decisions", "OpenRouter", "Reply", "SystemOne", "Terms", "Wire", "WorkersAI"]
