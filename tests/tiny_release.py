"""Tiny random releases of the real classes, in the layout of the published ones, built in about a second.

They stand in for weights of tens of gigabytes: same files, same tensor names, half a million parameters.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal
from unittest.mock import patch

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoProcessor,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    Qwen3_5Config,
    Qwen3_5ForConditionalGeneration,
    Qwen3OmniMoeConfig,
    Qwen3OmniMoeForConditionalGeneration,
)

from omniclef.backbones.qwen.prompt import CLOSING, END, OPENING, OPTIONS, SCHEMA
from omniclef.head import HeadConfig, JointSchemaHead

Family = Literal["omni", "dense"]

MARKS = (
    "endoftext im_start im_end vision_start vision_end vision_pad image_pad video_pad audio_start audio_end audio_pad"
)
SPECIAL = [*(f"<|{mark}|>" for mark in MARKS.split(" ")), "<think>", "</think>"]
FIELD = (
    "\nFIELD 12\nID: team\nTYPE: choice noul score\nINSTRUCTION: Which team should handle this? Is it the one?"
    'OPTION 1: {"description":"The proposition is true or the answer is yes.","option_id":"true"}\n'
    'OPTION 2: {"description":"The proposition is false or the answer is no.","option_id":"false"}\n'
)
HEAD = HeadConfig(hidden_size=64, width=32, routing_layers=2, layers=2, heads=4, feedforward=64)
ORACLES = {
    "omni": (
        "ollajev",
        "_vendor/clef_omni/joint_schema_model.py",
        "21d05ebb8cbea26a26af65eca3d16cf4b69bf80a320e2d5b203e86f0d632a670",
    ),
    "dense": (
        "clef_finetune",
        "_vendor/joint_schema_model.py",
        "0e304cf7c6500e8bb59bef7e2afd2c6373f82596dfb3b57d1aa93c175e2dc3a3",
    ),
}


def oracle(family: Family) -> ModuleType:
    """The publisher's file as it is installed, after a look at its hash."""
    package, inside, digest = ORACLES[family]
    found = importlib.util.find_spec(package)
    assert found is not None, f"{package} is not installed; run: make deps"
    assert found.origin is not None
    path = Path(found.origin).parent / inside
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    spec = importlib.util.spec_from_file_location(f"oracle_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, what a few prompts merge them to, and the marks of the family.

    The merges matter: without them a prompt made in one piece would have the tokens of one made piece by piece.
    """
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    plain.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=490, initial_alphabet=alphabet, show_progress=False)
    plain.train_from_iterator(3 * [OPENING, SCHEMA, OPTIONS, END, CLOSING, FIELD], trainer)
    plain.add_special_tokens(SPECIAL)
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens={
            "image_token": "<|image_pad|>",
            "video_token": "<|video_pad|>",
            "audio_token": "<|audio_pad|>",
            "vision_bos_token": "<|vision_start|>",
            "vision_eos_token": "<|vision_end|>",
            "audio_bos_token": "<|audio_start|>",
            "audio_eos_token": "<|audio_end|>",
        },
    )


def omni_config(ids: Any) -> Qwen3OmniMoeConfig:
    text = {
        "vocab_size": 512,
        "hidden_size": 64,
        "intermediate_size": 128,
        "moe_intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "max_position_embeddings": 65536,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e6,
            "mrope_section": [4, 2, 2],
            "mrope_interleaved": True,
        },
    }
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 64,
        "deepstack_visual_indexes": [0],
        "num_position_embeddings": 64,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }
    audio = {
        "encoder_layers": 2,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "d_model": 32,
        "output_dim": 64,
        "downsample_hidden_size": 16,
        "num_mel_bins": 128,
    }
    thinker = {
        "text_config": text,
        "vision_config": vision,
        "audio_config": audio,
        "position_id_per_seconds": 13,
        "image_token_id": ids("<|image_pad|>"),
        "video_token_id": ids("<|video_pad|>"),
        "audio_token_id": ids("<|audio_pad|>"),
        "vision_start_token_id": ids("<|vision_start|>"),
        "vision_end_token_id": ids("<|vision_end|>"),
        "audio_start_token_id": ids("<|audio_start|>"),
        "audio_end_token_id": ids("<|audio_end|>"),
    }
    return Qwen3OmniMoeConfig(thinker_config=thinker, enable_audio_output=False)


def dense_config(ids: Any) -> Qwen3_5Config:
    text = {
        "vocab_size": 512,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "max_position_embeddings": 262144,
        "tie_word_embeddings": False,
        "eos_token_id": ids("<|im_end|>"),
        "pad_token_id": ids("<|endoftext|>"),
    }
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 64,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "num_position_embeddings": 64,
    }
    return Qwen3_5Config(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=False,
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
    )


PICTURES = {
    "patch_size": 16,
    "merge_size": 2,
    "temporal_patch_size": 2,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "rescale_factor": 1 / 255,
    "resample": 3,
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "do_convert_rgb": True,
}
SOUND = {
    "feature_extractor_type": "WhisperFeatureExtractor",
    "feature_size": 128,
    "sampling_rate": 16000,
    "hop_length": 160,
    "chunk_length": 300,
    "n_fft": 400,
    "padding_side": "right",
    "padding_value": 0.0,
    "dither": 0.0,
    "return_attention_mask": True,
}


def write_processor(folder: Path, family: Family) -> None:
    """Processor files as the published folders hold them."""
    omni = family == "omni"
    image_size = {"shortest_edge": 3136, "longest_edge": 12845056} if omni else {
        "shortest_edge": 65536, "longest_edge": 16777216
    }  # fmt: skip
    picture = {**PICTURES, "size": image_size, "image_processor_type": "Qwen2VLImageProcessor"}
    if omni:
        picture |= {**SOUND, "processor_class": "Qwen3OmniMoeProcessor"}
        video_size = {"shortest_edge": 128 * 32 * 32, "longest_edge": 768 * 32 * 32}
    else:
        picture["processor_class"] = "Qwen3VLProcessor"
        video_size = {"shortest_edge": 4096, "longest_edge": 25165824}
    video = {**PICTURES, "size": video_size}
    video["video_processor_type"] = "Qwen2VLVideoProcessor" if omni else "Qwen3VLVideoProcessor"
    (folder / "preprocessor_config.json").write_text(json.dumps(picture))
    (folder / "video_preprocessor_config.json").write_text(json.dumps(video))


def build(folder: Path, family: Family, *, seed: int = 0, processor: bool = True) -> Path:
    """A release of float32 weights in ``folder``. Weights are large enough for every input to show in the logits."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    words = tokenizer()
    ids = words.convert_tokens_to_ids
    model: Any
    if family == "omni":
        model = Qwen3OmniMoeForConditionalGeneration(omni_config(ids))
    else:
        model = Qwen3_5ForConditionalGeneration(dense_config(ids))
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if tensor.ndim > 1:
                tensor.mul_(6 if "audio_tower" in name else 2)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    head = JointSchemaHead(HEAD)
    with torch.no_grad():
        for scalar, value in ((head.prior_logit_scale, 1.3), (head.joint_logit_scale, 1.1), (head.residual_gate, 0.6)):
            scalar.fill_(value)
    save_file(
        {name: tensor.contiguous() for name, tensor in head.state_dict().items()}, folder / "joint_head.safetensors"
    )
    (folder / "joint_head_config.json").write_text(json.dumps(HEAD.to_dict()))
    if processor:
        write_processor(folder, family)
    return folder


def open_oracle(module: ModuleType, folder: Path) -> tuple[Any, Any]:
    """The publisher's loader on ``folder``: its model in float32, and a processor that has a tokenizer alone.

    transformers' own processor of these models needs torchvision, which is not part of every environment.
    """
    processor = SimpleNamespace(tokenizer=AutoTokenizer.from_pretrained(folder))
    with patch.object(AutoProcessor, "from_pretrained", lambda path: processor):
        model, found = module.load_release_model(folder, device="cpu", dtype=torch.float32)
    assert found is processor
    return model, processor
