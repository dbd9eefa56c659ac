"""A release folder to a backbone and its head, ready to run.

Knows where each part of a release goes. Must not know records or answers.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from safetensors.torch import load_file

from omniclef.backbones.qwen.backbone import QwenBackbone
from omniclef.backbones.qwen.classes import open_network
from omniclef.backbones.qwen.media import MediaReader
from omniclef.backbones.qwen.precision import require
from omniclef.backbones.qwen.prompt import Ids, PromptWriter
from omniclef.errors import InvalidInput
from omniclef.head import HeadConfig, JointSchemaHead, TorchHead
from omniclef.release import HEAD_WEIGHTS, Precision, Release

__all__ = ["media_tokens", "open_release", "require"]


def open_release(
    release: Release,
    *,
    precision: Precision = "float32",
    device: str = "cpu",
    window: int | None = None,
    ids: Ids = "faithful",
    remember: int = 0,
) -> tuple[QwenBackbone, TorchHead]:
    """Loads network and head of a release that was checked.

    Args:
        window: most tokens of a prompt; None takes the release's own.
        remember: bytes of states to keep for other questions about them.

    Raises:
        InvalidInput: a window beyond the backbone's positions.
    """
    positions = int(release.text.get("max_position_embeddings") or release.window)
    if window is not None and not 0 < window <= positions:
        raise InvalidInput("window", f"{window:,} tokens, the backbone has {positions:,} positions", "use fewer")
    head = JointSchemaHead(HeadConfig.from_dict(release.head))
    head.load_state_dict(load_file(release.folder / HEAD_WEIGHTS), strict=True)
    head = head.to(device=device, dtype=torch.float32)  # small, and rounded it would move answers more than all else
    # The class is that of the publisher's code, so ids are too; code that comes with a folder is refused.
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
        release.folder, local_files_only=True, trust_remote_code=False
    )

    def encode(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False).input_ids
        return found

    writer = PromptWriter(encode, window or release.window, media_tokens(release, tokenizer), ids)
    network = open_network(release, precision, device)
    media = MediaReader(encode, release.processor, release.omni) if release.processor else None
    return QwenBackbone(release.name, network, head, tokenizer, writer, media, release.reads, remember), TorchHead(head)


def media_tokens(release: Release, tokenizer: Any) -> dict[int, str]:
    """Ids that stand for media in a prompt, with how a text would spell them."""
    config = release.config["thinker_config"] if release.omni else release.config
    names = ("image_token_id", "video_token_id", "audio_token_id", "vision_start_token_id", "audio_start_token_id")
    return {config[name]: str(tokenizer.convert_ids_to_tokens(config[name])) for name in names if name in config}
