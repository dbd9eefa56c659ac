"""Whisper's encoder out of a CTranslate2 file, as a small torch module, and the export of nano's sound graph.

The published packages carry Whisper as ``model.bin`` of CTranslate2: a header, named tensors, and aliases.
Only the encoder is read. Its rows go through ``SoundMap`` (see ``align_sound``) into the text space.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from omniclef.errors import InvalidInput

__all__ = [
    "MELS",
    "MelEncoder",
    "SoundGraph",
    "SoundMap",
    "export",
    "load_encoder",
    "read_ctranslate2",
    "signature",
]

MELS = 80
STRIDE = 8  # mel frames a pooled row stands for: 80 ms, 12.5 rows a second
WIDTH = 384  # the text space
FOLD = STRIDE // 2  # encoder rows a pooled row stands for
_DTYPES: tuple[str, ...] = ("<f4", "<i1", "<i2", "<i4", "<f2", "bfloat16")


def read_ctranslate2(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Every tensor of a CTranslate2 ``model.bin`` (binary version 6) by name, aliases included.

    Layout, little endian: u32 version, text spec, u32 revision, u32 count; then for each tensor text name, u8
    rank, u32 sizes, u8 type, u32 bytes, data; then u32 count of aliases, each two texts. A text is u16 length
    (with its closing zero) and bytes. Raises InvalidInput if the file is something else or ends early.
    """
    with path.open("rb") as file:
        version = _u32(file, path)
        if version != 6:
            raise InvalidInput(str(path), f"CTranslate2 binary version {version}", "version 6 is read")
        _text(file, path), _u32(file, path)
        tensors: dict[str, npt.NDArray[np.generic]] = {}
        for _ in range(_u32(file, path)):
            name = _text(file, path)
            shape = [_u32(file, path) for _ in range(_take(file, 1, path)[0])]
            kind = _DTYPES[_take(file, 1, path)[0]]
            if kind == "bfloat16":
                raise InvalidInput(str(path), f"{name} is bfloat16", "give a float16 or float32 model")
            raw = _take(file, _u32(file, path), path)
            tensors[name] = np.frombuffer(raw, dtype=kind).reshape(shape)
        for _ in range(_u32(file, path)):
            alias, target = _text(file, path), _text(file, path)
            tensors[alias] = tensors[target]
    return tensors


def _take(file: BinaryIO, count: int, path: Path) -> bytes:
    raw = file.read(count)
    if len(raw) != count:
        raise InvalidInput(str(path), f"ends {count - len(raw)} bytes early", "fetch the file again")
    return raw


def _u32(file: BinaryIO, path: Path) -> int:
    return int(struct.unpack("<I", _take(file, 4, path))[0])


def _text(file: BinaryIO, path: Path) -> str:
    length = int(struct.unpack("<H", _take(file, 2, path))[0])
    return _take(file, length, path).rstrip(b"\0").decode()


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int, growth: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, growth * width)
        self.down = nn.Linear(growth * width, width)

    def forward(self, rows: Tensor, bias: Tensor) -> Tensor:
        count, length, width = rows.shape
        split = self.qkv(self.attention_norm(rows)).view(count, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-1, -2) / math.sqrt(width // self.heads) + bias).softmax(-1)
        rows = rows + self.out((weights @ v).transpose(1, 2).reshape(count, length, width))
        return rows + self.down(F.gelu(self.up(self.feed_norm(rows))))


class MelEncoder(nn.Module):  # type: ignore[misc]
    """Whisper's encoder on clips of any length up to 30 s.

    forward(mel [N, 80, F], frames [N] int64) -> rows and early, both [N, ceil(F / 2), width]: what the
    encoder says, and its residual stream half way, which still knows voices and noises. ``frames`` is how
    many mel frames of each clip are real; the rest must be zero and changes nothing: conv outputs and
    attention are masked there.
    """

    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.width = width
        self.conv1 = nn.Conv1d(MELS, width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.zeros(1500, width))
        self.layers = nn.ModuleList(_Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, mel: Tensor, frames: Tensor) -> tuple[Tensor, Tensor]:
        real = torch.arange(mel.shape[2], device=mel.device) < frames[:, None]
        hidden = F.gelu(self.conv1(mel)) * real[:, None, :].to(mel.dtype)
        rows = F.gelu(self.conv2(hidden)).transpose(1, 2)
        rows = rows + self.positions[: rows.shape[1]]
        bias = torch.where(real[:, ::2], 0.0, -1e9).to(mel.dtype)[:, None, None, :]
        half = len(self.layers) // 2
        for layer in self.layers[:half]:
            rows = layer(rows, bias)
        early = rows
        for layer in self.layers[half:]:
            rows = layer(rows, bias)
        return self.norm(rows), early


def load_encoder(path: Path) -> MelEncoder:
    """The encoder of a Whisper ``model.bin`` in float32, ready to run."""
    tensors = read_ctranslate2(path)
    prefix = "encoder/"
    width = tensors["encoder/conv1/weight"].shape[0]
    layers = sum(name.endswith("/ffn/linear_0/weight") and name.startswith(prefix) for name in tensors)
    encoder = MelEncoder(width, layers, width // 64)  # every Whisper has heads of 64
    names = {
        "conv1": "conv1",
        "conv2": "conv2",
        "norm": "layer_norm",
    }
    for i in range(layers):
        at = f"layer_{i}"
        names |= {
            f"layers.{i}.attention_norm": f"{at}/self_attention/layer_norm",
            f"layers.{i}.qkv": f"{at}/self_attention/linear_0",
            f"layers.{i}.out": f"{at}/self_attention/linear_1",
            f"layers.{i}.feed_norm": f"{at}/ffn/layer_norm",
            f"layers.{i}.up": f"{at}/ffn/linear_0",
            f"layers.{i}.down": f"{at}/ffn/linear_1",
        }
    state = {"positions": tensors["encoder/position_encodings/encodings"]}
    for ours, theirs in names.items():
        gain, shift = ("gamma", "beta") if theirs.endswith("norm") else ("weight", "bias")
        state[f"{ours}.weight"] = tensors[f"{prefix}{theirs}/{gain}"]
        state[f"{ours}.bias"] = tensors[f"{prefix}{theirs}/{shift}"]
    encoder.load_state_dict({k: torch.from_numpy(v.astype(np.float32)) for k, v in state.items()})
    ready: MelEncoder = encoder.eval()
    return ready


class SoundMap(nn.Module):  # type: ignore[misc]
    """Encoder rows into the text space.

    forward(hidden [N, T, width], signature [N, 4 width], frames [N]) -> rows [N, T / 4, 384], aligned [N,
    384] unit, key [N, 4 width] unit.

    Four encoder rows (80 ms) fold into one; one layer of attention lets words find their neighbours; ``rows``
    live in the text space, and ``aligned`` is their weighted mean, as a sentence embedding is the mean of its
    tokens, plus a linear share of the key, which is what sounds without words have. ``key`` is the signature
    (see ``signature``) standardised on training sound, each half at equal length. T is a multiple of 4; rows
    past ``frames`` change nothing and come out as zero.
    """

    mean: Tensor
    scale: Tensor
    key_mean: Tensor
    key_scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        for name, size in (
            ("mean", width),
            ("scale", width),
            ("key_mean", 4 * width),
            ("key_scale", 4 * width),
        ):
            self.register_buffer(name, torch.ones(size) if "scale" in name else torch.zeros(size))
        self.fold = nn.Linear(FOLD * width, WIDTH)
        self.mix = _Layer(WIDTH, WIDTH // 64, growth=2)
        self.norm = nn.LayerNorm(WIDTH)
        self.rows = nn.Linear(WIDTH, WIDTH)
        self.gate = nn.Linear(WIDTH, 1)
        self.voice = nn.Linear(4 * width, WIDTH, bias=False)

    def forward(self, hidden: Tensor, signature: Tensor, frames: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        key = self.key(signature)
        count, length, width = hidden.shape
        fine = _real(length, frames, 2)[:, :, None].to(hidden.dtype)
        real = _real(length // FOLD, frames, STRIDE)
        folded = self.fold(((hidden - self.mean) / self.scale * fine).reshape(count, length // FOLD, FOLD * width))
        mixed = self.norm(self.mix(folded, torch.where(real, 0.0, -1e9).to(hidden.dtype)[:, None, None, :]))
        rows = self.rows(mixed) * real[:, :, None].to(hidden.dtype)
        weight = self.gate(mixed)[:, :, 0].masked_fill(~real, -1e9).softmax(1)
        return rows, F.normalize((weight[:, :, None] * rows).sum(1) + self.voice(key), dim=-1), key

    def key(self, signature: Tensor) -> Tensor:
        halves = ((signature - self.key_mean) / self.key_scale).chunk(2, dim=1)
        return torch.cat([F.normalize(half, dim=-1) for half in halves], dim=1) * 0.5**0.5


def _real(length: int, frames: Tensor, stride: int) -> Tensor:
    return torch.arange(length, device=frames.device) * stride < frames[:, None]


def signature(hidden: Tensor, early: Tensor, frames: Tensor) -> Tensor:
    """[N, 4 width]: mean and deviation over the real rows of the encoder's end, then of its middle."""
    fine = _real(hidden.shape[1], frames, 2)[:, :, None].to(hidden.dtype)
    count = fine.sum(1)
    parts = []
    for rows in (hidden, early):
        mean = (rows * fine).sum(1) / count
        spread = (((rows - mean[:, None]) * fine) ** 2).sum(1) / count
        parts += [mean, (spread + 1e-6).sqrt()]
    return torch.cat(parts, dim=1)


class SoundGraph(nn.Module):  # type: ignore[misc]
    """Log-mel pictures to rows, aligned and key: what ``sound.onnx`` holds."""

    def __init__(self, encoder: MelEncoder, map_: SoundMap) -> None:
        super().__init__()
        self.encoder = encoder
        self.map = map_

    def forward(self, mel: Tensor, frames: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden, early = self.encoder(mel, frames)
        out: tuple[Tensor, Tensor, Tensor] = self.map(hidden, signature(hidden, early, frames), frames)
        return out


def export(graph: SoundGraph, path: Path, *, longest: int = 1000) -> None:
    """Writes the graph in float32: inputs mel [N, 80, F] and frames [N], F a multiple of 8 up to ``longest``.

    Positions past ``longest`` mel frames are dropped from the file.
    """
    graph = graph.eval()
    graph.encoder.positions = nn.Parameter(graph.encoder.positions[: longest // 2].detach().clone())
    torch.onnx.export(
        graph,
        (torch.zeros(2, MELS, 5 * STRIDE), torch.tensor([33, 5 * STRIDE])),
        str(path),
        input_names=["mel", "frames"],
        output_names=["rows", "aligned", "key"],
        dynamic_shapes=(
            {0: torch.export.Dim("clips"), 2: STRIDE * torch.export.Dim("steps", max=longest // STRIDE)},
            {0: torch.export.Dim("clips")},
        ),
        dynamo=True,
        external_data=False,
        opset_version=18,
    )
