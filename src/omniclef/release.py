"""Folders of released weights: what they hold, whether they are whole, what memory they need, and writing one.

Knows the layout of a Clef release (a backbone in safetensors beside ``joint_head_config.json``) and its tensor names
and shapes. Must not know prompts, records or how anything is computed. Reads headers and configurations only, and never
runs code that lies in a folder. Everything but ``check`` and ``write`` works without the extra [torch].
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Literal, TypeAlias

from omniclef.errors import InvalidInput, MissingExtra, ModelNotFound, OmniclefError

__all__ = [
    "PRECISIONS",
    "IncompleteRelease",
    "NotEnoughMemory",
    "Precision",
    "Release",
    "free_memory",
    "is_release",
    "shrinks",
    "stored",
    "write",
]

Precision: TypeAlias = Literal["float32", "bfloat16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8")
"""``int8`` is of the language model's matrices alone, ``shrinks`` says which; all else is bfloat16 then."""

HEAD_CONFIG = "joint_head_config.json"
HEAD_WEIGHTS = "joint_head.safetensors"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"

UNUSED = ("talker.", "code2wav.", "mtp.")
"""Parts of a checkpoint that speak (Qwen3-Omni) or guess ahead (Qwen3.5). They are neither loaded nor counted."""

WINDOWS = {"qwen3_omni_moe": 64_000, "qwen3_5": 16_384}
"""Prompt tokens that the publisher's code reads by default."""

FLASH_WIDTH = 4096
"""Hidden size of Clef-flash; Clef is wider. Nothing else in the folders tells them apart."""

SHOWN = 5
"""Tensors of each kind that an error names."""

LARGEST_HEADER = 100 << 20
"""Bytes of a safetensors header; the format itself allows no more."""

WHOLE = 64 << 20
"""Files up to this many bytes count in full towards the digest, larger ones by samples."""

Shape: TypeAlias = tuple[int, ...]

_MULTIPLIED = re.compile(
    r"(thinker\.model|model\.language_model)\.layers\.\d+\.(self_attn\.[qkvo]_proj"
    r"|linear_attn\.(in_proj_qkv|in_proj_z|out_proj)|mlp\.(experts\.\d+\.)?(gate|up|down)_proj)\.weight"
)


class IncompleteRelease(OmniclefError):
    """Tensors of a release are missing, unexpected or of another shape than its configuration says.

    Attributes:
        missing, unexpected: names. mismatched: name to (shape in the file, shape by the configuration).
    """

    def __init__(
        self, where: str, missing: list[str], unexpected: list[str], mismatched: dict[str, tuple[Shape, Shape]]
    ) -> None:
        self.missing, self.unexpected, self.mismatched = missing, unexpected, mismatched
        shapes = [f"{name} is {list(is_)}, not {list(should)}" for name, (is_, should) in mismatched.items()]
        kinds = {"missing": missing, "unexpected": unexpected, "of another shape": shapes}
        told = [f"{len(names)} {kind} ({_some(names)})" for kind, names in kinds.items() if names]
        super().__init__(f"{where}: tensors {'; '.join(told)}; fetch the release again, or use its own config.json")


class NotEnoughMemory(OmniclefError):
    """The weights do not fit. needed, available: bytes."""

    def __init__(self, precision: str, needed: int, available: int, smaller: Mapping[Precision, int]) -> None:
        self.needed, self.available = needed, available
        fitting = [f"{name} ({_gigabytes(size)})" for name, size in smaller.items() if size <= available]
        remedy = f"use {' or '.join(fitting)}" if fitting else "use a machine with more memory"
        super().__init__(
            f"memory: {precision} weights need {_gigabytes(needed)}, {_gigabytes(available)} are free, "
            f"{_gigabytes(needed - available)} are missing; {remedy}"
        )


def is_release(folder: Path) -> bool:
    """Whether ``folder`` holds a head's configuration beside a backbone's, which is what makes it a Clef release."""
    return (folder / "config.json").is_file() and (folder / HEAD_CONFIG).is_file()


@dataclass(frozen=True)
class Release:
    """An opened release folder. Nothing of its weights is in memory.

    config: of the backbone. head: of the joint schema head, as their JSON files say.
    """

    folder: Path
    config: Mapping[str, Any]
    head: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Release:
        """Reads both configurations.

        Raises:
            ModelNotFound: a file is missing, or it is another kind of model.
            InvalidInput: a configuration is not JSON.
        """
        config, head = _read(folder, "config.json"), _read(folder, HEAD_CONFIG)
        _existing(folder, HEAD_WEIGHTS)
        kind = config.get("model_type")
        if kind not in WINDOWS:
            known = " and ".join(WINDOWS)
            raise ModelNotFound(f"{folder}: config.json is of the type {kind!r}; releases of {known} can be read")
        return cls(folder, config, head)

    @property
    def omni(self) -> bool:
        """True of a Qwen3-Omni thinker (Clef-omni), False of the dense Qwen3.5 class (Clef, Clef-flash)."""
        return bool(self.config["model_type"] == "qwen3_omni_moe")

    @property
    def text(self) -> Mapping[str, Any]:
        """The configuration of the language model."""
        whole: Mapping[str, Any] = self.config["thinker_config"] if self.omni else self.config
        text: Mapping[str, Any] = whole["text_config"]
        return text

    @property
    def name(self) -> str:
        """``clef-omni``, ``clef`` or ``clef-flash``."""
        if self.omni:
            return "clef-omni"
        return "clef-flash" if self.text.get("hidden_size") == FLASH_WIDTH else "clef"

    @property
    def description(self) -> str:
        """One line on what it is made of."""
        kind = "Qwen3-Omni thinker" if self.omni else "Qwen3.5"
        layers, wide = self.text.get("num_hidden_layers"), self.text.get("hidden_size")
        return f"{kind} of {layers} layers, {wide:,} wide, with a joint schema head of width {self.head.get('width')}"

    @property
    def window(self) -> int:
        """Most tokens of a prompt, media included: as in the publisher's code, within the backbone's positions."""
        positions = int(self.text.get("max_position_embeddings") or WINDOWS[self.config["model_type"]])
        return min(WINDOWS[self.config["model_type"]], positions)

    @property
    def reads(self) -> tuple[str, ...]:
        """Modalities that the weights and the processor files of the folder make readable; text always."""
        return ("text", *(kind for kind in ("image", "audio", "video") if kind in self.processor))

    @cached_property
    def processor(self) -> dict[str, Mapping[str, Any]]:
        """Settings of ``image``, ``video`` and ``audio`` from the processor files; empty where there are none.

        The files come in two layouts: one for all with a section each, or a flat one for pictures and sounds beside one
        for clips, which may be left out where clips are read as pictures are.
        """
        found: dict[str, Mapping[str, Any]] = {}
        if (self.folder / "processor_config.json").is_file():
            whole = _read(self.folder, "processor_config.json")
            names = {"image": "image_processor", "video": "video_processor", "audio": "feature_extractor"}
            found = {kind: whole[name] for kind, name in names.items() if isinstance(whole.get(name), dict)}
        if not found and (self.folder / "preprocessor_config.json").is_file():
            flat = _read(self.folder, "preprocessor_config.json")
            clips = (self.folder / "video_preprocessor_config.json").is_file()
            found = {"image": flat, "video": _read(self.folder, "video_preprocessor_config.json") if clips else flat}
            if "hop_length" in flat:
                found["audio"] = flat
        needed = {"image", "video", "audio"} if self.omni else {"image", "video"}
        return {kind: found[kind] for kind in found if kind in needed} if needed <= found.keys() else {}

    @property
    def licence(self) -> str:
        """What the folder's model card says."""
        card = self.folder / "README.md"
        if card.is_file():
            lines = card.read_text("utf-8", "replace").split("\n---", 1)[0].splitlines()
            for line in lines if lines and lines[0].strip() == "---" else ():
                key, _, value = line.partition(":")
                if key.strip() == "license" and value.strip():
                    return value.strip().strip("\"'")
        return "not stated in the folder"

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())

    @cached_property
    def tensors(self) -> dict[str, Shape]:
        """Name to shape of every backbone tensor in the files, the unused parts left out."""
        shapes: dict[str, Shape] = {}
        for path in self.weight_files():
            shapes |= {name: shape for name, shape in _header(path).items() if not name.startswith(UNUSED)}
        return shapes

    @cached_property
    def head_tensors(self) -> dict[str, Shape]:
        """Name to shape of every tensor of the head."""
        return _header(_existing(self.folder, HEAD_WEIGHTS))

    def weight_files(self) -> list[Path]:
        """The backbone's safetensors files, by its index where there is one."""
        if not (self.folder / INDEX).is_file():
            return [_existing(self.folder, WEIGHTS)]
        placed = _read(self.folder, INDEX).get("weight_map")
        if not isinstance(placed, dict) or not placed:
            raise InvalidInput(f"{self.folder}/{INDEX}", "has no weight_map", "fetch the release again")
        # A name with a path in it would open files elsewhere on the machine.
        names = sorted({Path(str(name)).name for name in placed.values()})
        return [_existing(self.folder, name) for name in names]

    def memory(self) -> dict[Precision, int]:
        """Bytes of the weights in each precision, head included, before anything is loaded.

        The head is float32 in all of them. ``int8`` keeps one byte a value and five for each output row (scale and zero
        point) of the matrices that ``shrinks`` names, and bfloat16 of the others. What a prompt needs on top is small.
        """
        head = 4 * sum(map(prod, self.head_tensors.values()))
        values = dict.fromkeys(PRECISIONS, head)
        for name, shape in self.tensors.items():
            count = prod(shape)
            values["float32"] += 4 * count
            values["bfloat16"] += 2 * count
            values["int8"] += count + 5 * shape[0] if shrinks(name, shape) else 2 * count
        return values

    def require_memory(self, precision: Precision, available: int) -> None:
        """Raises ``NotEnoughMemory``, saying how much is missing, where the weights exceed ``available`` bytes."""
        needs = self.memory()
        if needs[precision] > available:
            smaller: dict[Precision, int] = {name: needs[name] for name in PRECISIONS if needs[name] < needs[precision]}
            raise NotEnoughMemory(precision, needs[precision], available, smaller)

    def check(self) -> None:
        """Compares every tensor's name and shape, backbone and head, with what the configurations say.

        Raises:
            IncompleteRelease: something is missing, unexpected or of another shape.
            InvalidInput: head and backbone have different hidden sizes.
            MissingExtra: without [torch] nobody knows what the configuration says.
        """
        wide, hidden = self.head.get("hidden_size"), self.text.get("hidden_size")
        if wide != hidden:
            problem = f"hidden_size is {wide}, that of the backbone is {hidden}"
            raise InvalidInput(f"{self.folder}/{HEAD_CONFIG}", problem, "use the head that belongs to the backbone")
        backbone, head = _expected(self)
        _compare(f"{self.folder}/{HEAD_WEIGHTS}", self.head_tensors, head)
        _compare(str(self.folder), self.tensors, backbone)

    def digest(self) -> str:
        """Shortened SHA-256 over names and contents: small files in full, large ones by their size, header and 64
        evenly spread samples of 64 KiB, as tens of gigabytes would take minutes.
        """
        total = hashlib.sha256()
        for path in sorted(self.folder.iterdir()):
            if path.suffix in (".json", ".safetensors", ".txt", ".jinja") and path.is_file():
                total.update(path.name.encode())
                total.update(_fingerprint(path))
        return total.hexdigest()[:16]


def write(folder: Path, backbone: Any, head: Any, like: Release) -> Release:
    """Writes a release that the publisher's own loader opens unchanged.

    Args:
        folder: made where it does not exist; may not hold a release already.
        backbone: the transformers model for conditional generation, in the precision to be stored.
        head: the ``JointSchemaHead``; stored in its own precision.
        like: the release whose tokenizer, processor and card files are copied. Code in it is not.

    Raises:
        InvalidInput: there is a release in ``folder`` already.
    """
    if is_release(folder):
        raise InvalidInput(str(folder), "holds a release already", "name another folder")
    try:
        from safetensors.torch import save_file
    except ImportError as error:
        raise MissingExtra("writing a release", "torch") from error
    folder.mkdir(parents=True, exist_ok=True)
    backbone.save_pretrained(folder)
    for path in sorted(like.folder.iterdir()):
        copied = path.suffix in (".json", ".txt", ".jinja", ".md") or path.name in ("LICENSE", "NOTICE")
        if copied and path.is_file() and path.name not in (HEAD_CONFIG, INDEX) and not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)
    save_file({name: tensor.contiguous() for name, tensor in head.state_dict().items()}, folder / HEAD_WEIGHTS)
    # Last, so that a write that was cut short is not taken for a release.
    (folder / HEAD_CONFIG).write_text(json.dumps(head.config.to_dict(), indent=2) + "\n", "utf-8")
    written = Release.open(folder)
    written.check()
    return written


def free_memory(device: str = "cpu") -> int | None:
    """Bytes that are free on ``device``; None where the system does not tell."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _expected(release: Release) -> tuple[dict[str, Shape], dict[str, Shape]]:
    """Names and shapes of backbone and head by the configurations: the classes themselves, made without storage."""
    try:
        import torch

        from omniclef.backbones.qwen.classes import architecture
        from omniclef.head import HeadConfig, JointSchemaHead
    except ImportError as error:
        raise MissingExtra(f"checking {release.name}", "torch") from error
    with torch.device("meta"):
        model, head = architecture(release), JointSchemaHead(HeadConfig.from_dict(release.head))
    backbone: dict[str, Shape] = {}
    for name, tensor in model.state_dict().items():
        backbone |= stored(name, tuple(tensor.shape))
    if release.config.get("tie_word_embeddings") and "lm_head.weight" not in release.tensors:
        del backbone["lm_head.weight"]  # the input embeddings stand for it
    return backbone, {name: tuple(tensor.shape) for name, tensor in head.state_dict().items()}


def stored(name: str, shape: Shape) -> dict[str, Shape]:
    """How one tensor of the running model lies in the files: towers beside the text model, experts one by one."""
    for tower in ("audio_tower", "visual"):
        name = name.replace(f"thinker.model.{tower}.", f"thinker.{tower}.")
    name = name.replace("thinker.model.language_model.", "thinker.model.")
    base, _, last = name.rpartition(".")
    if not base.endswith(".mlp.experts"):
        return {name: shape}
    experts, rows, columns = shape
    parts = {"gate_proj": (rows // 2, columns), "up_proj": (rows // 2, columns)}
    if last == "down_proj":
        parts = {"down_proj": (rows, columns)}
    return {f"{base}.{number}.{part}.weight": each for number in range(experts) for part, each in parts.items()}


def _compare(where: str, found: Mapping[str, Shape], expected: Mapping[str, Shape]) -> None:
    missing = sorted(expected.keys() - found.keys())
    unexpected = sorted(found.keys() - expected.keys())
    shared = sorted(expected.keys() & found.keys())
    mismatched = {name: (found[name], expected[name]) for name in shared if found[name] != expected[name]}
    if missing or unexpected or mismatched:
        raise IncompleteRelease(where, missing, unexpected, mismatched)


def shrinks(name: str, shape: Shape) -> bool:
    """Whether int8 weights are made of this tensor of the files: a matrix in a layer of the language model.

    Routers of experts and the gates of linear attention are matrices too, but few, and what they decide is not linear.
    """
    return len(shape) == 2 and _MULTIPLIED.fullmatch(name) is not None


def _header(path: Path) -> dict[str, Shape]:
    """Shapes by name from the header of a safetensors file, whose length must be what the header says."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > min(LARGEST_HEADER, size):
                raise ValueError("header is longer than the file")
            entries = json.loads(file.read(length))
        entries.pop("__metadata__", None)
        shapes = {name: tuple(map(int, entry["shape"])) for name, entry in entries.items()}
        end = max((int(entry["data_offsets"][1]) for entry in entries.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise InvalidInput(str(path), f"is no safetensors file ({error})", "fetch the release again") from error
    if 8 + length + end != size:
        problem = f"has {size:,} bytes, its header claims {8 + length + end:,}"
        raise InvalidInput(str(path), problem, "fetch the release again")
    return shapes


def _fingerprint(path: Path) -> bytes:
    size = path.stat().st_size
    if size <= WHOLE:
        return hashlib.sha256(path.read_bytes()).digest()
    total = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        total.update(file.read(min(length, LARGEST_HEADER)))
        for number in range(64):
            file.seek(number * (size - (64 << 10)) // 63)
            total.update(file.read(64 << 10))
    return total.digest()


def _existing(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ModelNotFound(f"{folder}: {name} is missing; fetch the release again")
    return path


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = _existing(folder, name)
    try:
        value = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InvalidInput(str(path), f"is not JSON ({error})", "fetch the release again") from error
    if not isinstance(value, dict):
        raise InvalidInput(str(path), "is not a JSON object", "fetch the release again")
    return value


def _some(names: list[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"
