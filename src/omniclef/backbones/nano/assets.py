"""nano's files, opened when they are first needed: four graphs, a tokenizer, a few arrays, one configuration.

Knows the layout of the weights folder; knows nothing of records.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from omniclef.backbones.base import Array, Modality
from omniclef.backbones.nano.cache import Cache
from omniclef.backbones.nano.clarity import Clarity
from omniclef.backbones.nano.examples import Constants, Discriminant, Readout, Ridge, RidgeConstants
from omniclef.backbones.nano.head import OnnxHead
from omniclef.backbones.nano.image import ImageTower
from omniclef.backbones.nano.sound import SoundTower
from omniclef.backbones.nano.text import TextRows, TextTower
from omniclef.backbones.nano.wording import Rarity
from omniclef.errors import InvalidInput, ModelNotFound
from omniclef.media import load_audio, load_image
from omniclef.records import Question, media_kind

__all__ = ["Assets", "open_text"]

PLACES = 32
"""Places from the end of a list that have a mark of their own; earlier ones share the last."""


class Assets:
    """The folder of one nano model.

    Args:
        folder: holds config.json, tokenizer.json, arrays.npz and text, image, sound and head ``.onnx``.
        threads: for each graph; None lets onnxruntime take the machine's cores.
        cache_bytes: how much read text to remember.
        finished: False while the model is being made, and has no head yet.

    Raises:
        ModelNotFound: a file is missing.
    """

    def __init__(
        self, folder: Path, threads: int | None = None, cache_bytes: int = 256 << 20, finished: bool = True
    ) -> None:
        self.folder = folder
        self._threads = threads
        self._cache_bytes = cache_bytes
        for name in ("tokenizer.json", "text.onnx", *(("head.onnx",) if finished else ())):
            _file(folder, name)  # those of pictures and sound may be left out of a model that only reads
        self.config: dict[str, Any] = json.loads(_file(folder, "config.json").read_text("utf-8"))
        with np.load(_file(folder, "arrays.npz")) as arrays:
            self.mean: Array = arrays["mean"].astype(np.float32)
            self.covariance: Array = arrays["covariance"].astype(np.float32)
            odds: Array = arrays["english"].astype(np.float32)
            stems = arrays["stems"].tobytes().decode().split("\n")
            self.rarity = Rarity(dict(zip(stems, arrays["rarity"].tolist(), strict=True)), float(arrays["unseen"]))
        self.weights: Mapping[str, float] = self.config["words"]
        self.sharp: Mapping[str, float] = self.config["sharp"]
        self.media: Mapping[str, Mapping[str, float]] = self.config["media"]
        self._familiar = self._known_options()
        self._example_keys: Cache[bytes, Array] = Cache(64 << 20)
        self.clarity = Clarity(odds, **self.config["clarity"])
        size = len(self.mean)
        self.places: Array = _waves(np.arange(PLACES), size)
        # Fixed, seeded directions: which sense a row came from. They are part of the model's format.
        draws = np.random.Generator(np.random.PCG64(7)).standard_normal((3, size)).astype(np.float32)
        self.marks: dict[Modality, Array] = {"image": draws[0], "audio": draws[1], "video": draws[2]}

    @cached_property
    def text(self) -> TextTower:
        return open_text(self.folder, self._threads, self._cache_bytes)

    @cached_property
    def image(self) -> ImageTower:
        return ImageTower(self._session("image"))

    @cached_property
    def sound(self) -> SoundTower:
        return SoundTower(self._session("sound"))

    @cached_property
    def head(self) -> OnnxHead:
        return OnnxHead(self._session("head"))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and bytes of every file, shortened: two models with one digest answer alike."""
        total = hashlib.sha256()
        for path in sorted(self.folder.iterdir()):
            if path.is_file():
                total.update(path.name.encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()[:16]

    def trust(self, options: Array) -> float:
        """How far the head's joint part can be trusted with options [O, d] (unit rows), 0 to 1: whether they are
        like options that it was trained on, each compared with the nearest."""
        if self._familiar is None:
            return 1.0
        nearest = (options @ self._familiar).max(axis=1).mean()
        low, high = self.config["trust"]["from"], self.config["trust"]["to"]
        return float(np.clip((nearest - low) / (high - low), 0.0, 1.0))

    def _known_options(self) -> Array | None:
        """[d, R] unit rows of the options seen in training; None while the head is being trained."""
        path = self.folder / "familiar.npy"
        if not path.is_file():
            return None
        rows = np.load(path).astype(np.float32)
        return np.ascontiguousarray((rows / np.linalg.norm(rows, axis=1, keepdims=True)).T)

    def readouts(
        self, question: Question, lexical: Array, texts: Mapping[str, TextRows], trust: float
    ) -> dict[Modality, Readout]:
        """One readout for each modality that the options' examples come in; none where there are no examples."""
        given: dict[Modality, list[tuple[int, str]]] = {}
        for index, option in enumerate(question.options()):
            for example in option.examples:
                kind = media_kind(example)
                if kind == "video":
                    problem, remedy = "a clip cannot be an example", "give pictures, sounds or texts"
                    raise InvalidInput("criteria examples", problem, remedy)
                given.setdefault(kind or "text", []).append((index, example))
        found: dict[Modality, Readout] = {}
        for modality, pairs in given.items():
            owners = np.array([index for index, _ in pairs], np.int64)
            keys = self._keys(modality, [example for _, example in pairs], texts)
            values, count = self.config["examples"][modality], len(question.options())
            if modality == "text":
                constants = Constants(**values)
                found[modality] = Discriminant(keys, owners, count, constants, lexical, self.covariance)
            else:
                found[modality] = Ridge(keys, owners, count, RidgeConstants(**values), trust)
        return found

    def _keys(self, modality: Modality, examples: list[str], texts: Mapping[str, TextRows]) -> Array:
        if modality == "text":
            return np.stack([texts[example].vector for example in examples])
        names = {example: hashlib.sha256(example.encode()).digest() for example in examples}
        found, missing = self._example_keys.get_many(names.values())
        # One recording often is an example of several questions: it is read once.
        new = {name: example for example, name in names.items() if name in set(missing)}
        if modality == "image":
            pictures = [load_image(example, field="criteria examples") for example in new.values()]
            fresh = dict(zip(new, (picture.key for picture in self.image.encode(pictures)), strict=True))
        else:
            sounds = [load_audio(example, field="criteria examples") for example in new.values()]
            fresh = dict(zip(new, (sound.key for sound in self.sound.encode(sounds)), strict=True))
        self._example_keys.put_many(fresh)
        found.update(fresh)
        return np.stack([found[names[example]] for example in examples])

    def _session(self, name: str) -> ort.InferenceSession:
        return _session(self.folder, name, self._threads)


def open_text(folder: Path, threads: int | None = None, cache_bytes: int = 256 << 20) -> TextTower:
    """The text tower of a model alone."""
    tokenizer = Tokenizer.from_file(str(_file(folder, "tokenizer.json")))
    return TextTower(_session(folder, "text", threads), tokenizer, cache_bytes)


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ModelNotFound(f"{folder}: {name} is missing; reinstall omniclef or name a complete model folder")
    return path


def _session(folder: Path, name: str, threads: int | None) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads or int(os.environ.get("OMNICLEF_THREADS", "0"))
    # Each tower has threads of its own. Left to spin after a call, they take the cores from the tower that comes next:
    # one record at a time was half as fast.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return ort.InferenceSession(str(_file(folder, f"{name}.onnx")), options, providers=["CPUExecutionProvider"])


def _waves(places: np.ndarray[Any, Any], size: int) -> Array:
    """Sines and cosines of each place, at periods from 2 pi to some hundreds [len(places), size]."""
    rates = 200.0 ** (-np.arange(size // 2) / (size // 2))
    angles = places[:, None] * rates[None]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
