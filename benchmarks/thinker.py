"""Random networks of the released classes, small enough for a CPU: ours, and the publisher's model on the same weights.

What is measured with them depends on shapes alone.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Qwen3OmniMoeConfig, Qwen3OmniMoeForConditionalGeneration

import omniclef
from omniclef.backbones.qwen.backbone import QwenBackbone
from omniclef.backbones.qwen.classes import Network
from omniclef.backbones.qwen.media import MediaReader
from omniclef.backbones.qwen.prompt import PromptWriter
from omniclef.evidence import rendered
from omniclef.head import HeadConfig, JointSchemaHead, TorchHead
from omniclef.records import Question, Record, Video

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import tiny_release  # the tests' tokenizer: prompts are measured in tokens, whatever those spell

__all__ = ["QUESTIONS", "Thinker"]

READS = ("text", "image", "audio", "video")
WORDS = "the order came late and nobody at the counter could say where it had been since monday "

QUESTIONS: dict[str, Question] = {
    "refund": omniclef.Noul("Money back?"),
    "team": omniclef.Choice({"billing": None, "sales": None, "support": None}, "Which team?"),
    "urgent": omniclef.Score(["no", "soon", "now"], "How urgent?"),
}

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "thinker": {
        "text_config": {
            "vocab_size": 151_936, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8,
            "num_key_value_heads": 2, "head_dim": 64, "num_experts": 16, "num_experts_per_tok": 4,
            "moe_intermediate_size": 384, "intermediate_size": 384,
        },
        "vision_config": {
            "depth": 6, "hidden_size": 256, "intermediate_size": 1024, "num_heads": 4, "out_hidden_size": 512,
            "deepstack_visual_indexes": [1, 3], "num_position_embeddings": 2304,
        },
        "audio_config": {
            "encoder_layers": 6, "encoder_attention_heads": 4, "encoder_ffn_dim": 1024, "d_model": 256,
            "output_dim": 512, "downsample_hidden_size": 128,
        },
        "head": {"width": 256, "routing_layers": 2, "layers": 4, "heads": 4, "feedforward": 1024},
    },
    "slim": {
        "text_config": {
            "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 64, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
        },
        "vision_config": {"out_hidden_size": 256},
        "audio_config": {"output_dim": 256},
        "head": {"width": 128, "routing_layers": 2, "layers": 4, "heads": 4, "feedforward": 512},
    },
    "tiny": {"head": {"width": 32, "routing_layers": 2, "layers": 2, "heads": 4, "feedforward": 64}},
}  # fmt: skip
"""``thinker`` has the real vocabulary; ``slim`` reads long states within minutes; ``tiny`` shows that it runs."""


class Thinker:
    """A random model of the class of Clef-omni in ``dtype``, opened by us (``model``) and plain (``plain``).

    Both have the same tensors; ``plain`` attends and chooses experts as transformers does by itself.
    """

    def __init__(self, size: str, dtype: torch.dtype = torch.float32, remember: int = 0) -> None:
        torch.manual_seed(0)
        self.tokenizer = tiny_release.tokenizer()
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            whole = Qwen3OmniMoeForConditionalGeneration(self._config(SIZES[size])).eval().requires_grad_(False)
        finally:
            torch.set_default_dtype(before)
        self.plain = copy.deepcopy(whole, {id(tensor): tensor for tensor in whole.parameters()})
        self.network = Network(whole, omni=True)
        self.head = JointSchemaHead(HeadConfig(self.network.table.shape[1], **SIZES[size]["head"])).to(dtype)
        settings = {"image": tiny_release.PICTURES, "video": tiny_release.PICTURES, "audio": tiny_release.SOUND}
        bounds = {"size": {"shortest_edge": 1, "longest_edge": 1}}  # Clef-omni has bounds of its own
        self.media = MediaReader(self.encode, {kind: {**part, **bounds} for kind, part in settings.items()}, omni=True)
        self.writer = PromptWriter(self.encode, 64_000)
        self.model = self.opened(remember)

    def opened(self, remember: int) -> omniclef.DecisionModel:
        """A model on these weights that remembers so many bytes of states."""
        backbone = QwenBackbone(
            "clef-omni", self.network, self.head, self.tokenizer, self.writer, self.media, READS, remember
        )
        scorer = TorchHead(self.head)
        info = omniclef.ModelInfo("clef-omni", "", "random weights", "", READS, (), 0)
        return omniclef.DecisionModel(backbone, lambda: scorer, lambda: info, texts=rendered)

    def encode(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return found

    @property
    def parameters(self) -> int:
        return sum(tensor.numel() for tensor in self.plain.parameters())

    def state(self, tokens: int, seed: int = 0) -> str:
        """A text that makes a prompt with ``QUESTIONS`` of about so many tokens."""
        fixed = self.writer.write(Record("", QUESTIONS)).shares.total
        words = f"{seed} " + WORDS * (1 + tokens // 16)
        rate = len(words) / len(self.encode(words))
        return words[: max(1, round((tokens - fixed) * rate))]

    def processor(self) -> Any:
        """What the publisher's code calls a processor, with our tokens and tensors for media."""
        return _Processor(self)

    def _config(self, sizes: dict[str, dict[str, Any]]) -> Qwen3OmniMoeConfig:
        thinker = tiny_release.omni_config(self.tokenizer.convert_tokens_to_ids).thinker_config.to_dict()
        for part, values in sizes.items():
            if part != "head":
                thinker[part] = {**thinker[part], **values}
        return Qwen3OmniMoeConfig(thinker_config=thinker, enable_audio_output=False)


class _Processor:
    def __init__(self, thinker: Thinker) -> None:
        self.tokenizer = thinker.tokenizer
        self._read = thinker.media.read

    def __call__(self, *, images: Any = None, audio: Any = None, videos: Any = None, **options: Any) -> dict[str, Any]:
        clips, sounds = list(videos or ()), list(audio or ())
        heard = options.get("videos_kwargs", {}).get("use_audio_in_video", False)
        own, tracks = (sounds[: -len(clips)], sounds[-len(clips) :]) if heard else (sounds, [None] * len(clips))
        record = Record(
            "",
            QUESTIONS,
            images=tuple(np.asarray(image) for image in images or ()),
            audio=tuple(own),
            videos=tuple(Video(tuple(frames), 2.0, track) for frames, track in zip(clips, tracks, strict=True)),
        )
        media = self._read(record)
        return {"input_ids": torch.tensor([media.tokens])} | dict(media.tensors)
