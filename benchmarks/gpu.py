"""Clef-omni at its real size with random weights: how long a decision takes on one GPU, beside published figures.

    python benchmarks/gpu.py [--device cuda] [--repeats 50] [--tiny] [--json FILE]

Needs the extra [torch] and about 64 GB on the device: a Qwen3-Omni-30B-A3B thinker in bfloat16. Weights are random,
which changes no shape. What is timed is everything from decoded media and a parsed record to typed answers: tokens,
towers, network, head. Nothing is remembered between repeats, and each has its own state.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from report import Sheet, hardware, show, versions
from rich.console import Console
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

WINDOW = 64_000
WORDS = "the order came late and nobody at the counter could say where it had been since monday "

QUESTIONS: dict[str, Question] = {
    "refund": omniclef.Noul("Money back?"),
    "team": omniclef.Choice({"billing": None, "sales": None, "support": None}, "Which team?"),
    "urgent": omniclef.Score(["no", "soon", "now"], "How urgent?"),
}

REAL = {
    "text_config": {
        "vocab_size": 152_064, "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 768, "intermediate_size": 768, "max_position_embeddings": 65_536,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 1e6, "mrope_section": [24, 20, 20], "mrope_interleaved": True,
        },
    },
    "vision_config": {"out_hidden_size": 2048},
    "audio_config": {"output_dim": 2048},
}  # fmt: skip
"""Sizes of the published thinker; the towers are those of the class by default."""

PUBLISHED = {
    "text": "130 ms",
    "picture": "150 ms",
    "10 s of sound": "a few hundred ms",
    "21 s clip with sound": "1.5 s",
}
"""What the publisher states for Clef-omni."""


def omni_config(tiny: bool, ids: Callable[[str], Any]) -> Qwen3OmniMoeConfig:
    small = tiny_release.omni_config(ids)
    if tiny:
        return small
    marks = {key: value for key, value in small.thinker_config.to_dict().items() if key.endswith("_token_id")}
    thinker = {**REAL, **marks, "position_id_per_seconds": 13}
    return Qwen3OmniMoeConfig(thinker_config=thinker, enable_audio_output=False)


def random_model(device: str, tiny: bool) -> omniclef.DecisionModel:
    """Made on the device itself: its weights would not fit twice."""
    words = tiny_release.tokenizer()
    dtype = torch.float32 if tiny else torch.bfloat16
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            backbone = Qwen3OmniMoeForConditionalGeneration(omni_config(tiny, words.convert_tokens_to_ids))
    finally:
        torch.set_default_dtype(before)
    network = Network(backbone, omni=True)
    hidden = network.table.shape[1]
    real = HeadConfig(hidden, 1024, routing_layers=2, layers=4, heads=16, feedforward=4096)
    head = JointSchemaHead(tiny_release.HEAD if tiny else real).to(device, dtype)

    def encode(text: str) -> list[int]:
        found: list[int] = words(text, add_special_tokens=False).input_ids
        return found

    settings = {"image": tiny_release.PICTURES, "video": tiny_release.PICTURES, "audio": tiny_release.SOUND}
    size = {"size": {"shortest_edge": 1, "longest_edge": 1}}  # Clef-omni has bounds of its own
    media = MediaReader(encode, {kind: {**section, **size} for kind, section in settings.items()}, omni=True)
    reads = ("text", "image", "audio", "video")
    model = QwenBackbone("clef-omni", network, head, words, PromptWriter(encode, WINDOW), media, reads)
    scorer = TorchHead(head)
    info = omniclef.ModelInfo("clef-omni", "", "random weights", "", reads, (), 0)
    return omniclef.DecisionModel(model, lambda: scorer, lambda: info, texts=rendered)


def cases(model: omniclef.DecisionModel, tiny: bool) -> dict[str, Callable[[int], Record]]:
    """What is asked, by the number of the repeat."""
    rng = np.random.default_rng(0)
    assert isinstance(model.backbone, QwenBackbone)
    writer = model.backbone.writer

    def text(tokens: int) -> Callable[[int], Record]:
        fixed = writer.write(Record("", QUESTIONS)).shares.total
        words = WORDS * (1 + tokens // 20)
        rate = len(words) / writer.write(Record(words, QUESTIONS)).shares.state
        length = max(1, round((tokens - fixed) * rate))
        return lambda repeat: Record(f"{repeat} {words}"[:length], QUESTIONS)

    def pixels(height: int, width: int, count: int = 1) -> tuple[Any, ...]:
        return tuple(rng.integers(0, 256, (count, height, width, 3), dtype=np.uint8))

    def sound(seconds: float) -> Any:
        return rng.standard_normal(round(16_000 * seconds)).astype(np.float32) / 10

    picture = pixels(*((64, 64) if tiny else (1024, 1024)))
    spoken = sound(1.0 if tiny else 10.0)
    length, size = (2, (64, 80)) if tiny else (21, (384, 682))
    clip = Video(pixels(*size, count=2 * length), audio=sound(length))
    found = {f"text, about {n:,} tokens": text(n) for n in ((800,) if tiny else (800, 3_400, 16_000))}
    return found | {
        "picture": lambda repeat: Record(f"{repeat} {WORDS}", QUESTIONS, images=picture),
        "10 s of sound": lambda repeat: Record(f"{repeat} {WORDS}", QUESTIONS, audio=(spoken,)),
        "21 s clip with sound": lambda repeat: Record(f"{repeat} {WORDS}", QUESTIONS, videos=(clip,)),
    }


def measured(model: omniclef.DecisionModel, make: Callable[[int], Record], repeats: int) -> tuple[int, list[float]]:
    """Tokens and seconds. Answers are on the host when they are typed, so nothing is left running."""
    tokens, taken = 0, []
    for repeat in range(-2, repeats):
        record = make(repeat)
        start = time.perf_counter()
        tokens = model.decide_records([record])[0].usage.input_tokens
        if repeat >= 0:
            taken.append(time.perf_counter() - start)
    return tokens, taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Clef-omni at its real size with random weights.")
    parser.add_argument("--device", default="cuda", help="as torch names it")
    parser.add_argument("--repeats", type=int, default=50, help="of each case, after two that do not count")
    parser.add_argument("--tiny", action="store_true", help="small sizes on the CPU, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    options = parser.parse_args()
    device = "cpu" if options.tiny else options.device
    torch.manual_seed(0)
    start = time.perf_counter()
    model = random_model(device, options.tiny)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else str(hardware()["cpu"])
    sheet = Sheet("Clef-omni, random weights", ("case", "tokens", "median", "95th percentile", "published"))
    figures: dict[str, Any] = {"device": name, "versions": versions(), "torch": torch.__version__, "cases": {}}
    for case, make in cases(model, options.tiny).items():
        tokens, taken = measured(model, make, options.repeats)
        median, high = statistics.median(taken), sorted(taken)[min(len(taken) - 1, round(0.95 * len(taken)))]
        published = next((value for key, value in PUBLISHED.items() if case.startswith(key)), "")
        sheet.rows.append((case, f"{tokens:,}", f"{1000 * median:,.0f} ms", f"{1000 * high:,.0f} ms", published))
        figures["cases"][case] = {"tokens": tokens, "seconds": taken}
    whole = f"{time.perf_counter() - start:.0f} s in all"
    sheet.notes.append(f"{name}, torch {torch.__version__}, {options.repeats} repeats, {whole}")
    if device.startswith("cuda"):
        sheet.notes.append(f"most memory held: {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB")
    show([sheet], Console())
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
