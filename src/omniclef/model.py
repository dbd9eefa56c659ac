"""The walk itself: a request becomes records, media, hidden rows, logits and answers, for one record or many.

Knows the rooms and their order; knows nothing of HTTP or the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

from omniclef.answers import CONFIDENCES, Confidence, Decision, Evidence, Usage, answer, softmax
from omniclef.backbones.base import (
    Backbone,
    Head,
    Leaf,
    Prefill,
    Scores,
    TokenCount,
    WindowedBackbone,
)
from omniclef.backbones.nano import Assets, NanoBackbone
from omniclef.backbones.nano.pieces import segments
from omniclef.errors import InvalidInput, MissingExtra, ModelNotFound
from omniclef.evidence import evidence, rendered
from omniclef.hub import is_hub_id, snapshot
from omniclef.media import Fetch, load_audio, load_image, load_video
from omniclef.media.budgets import DEFAULT_BUDGETS
from omniclef.media.sources import Source
from omniclef.records import (
    MAX_LEVELS,
    MAX_OPTIONS,
    Question,
    Record,
    Request,
    TextLike,
    parse_questions,
    parse_request,
)
from omniclef.release import Precision, Release, free_memory, is_release

__all__ = ["DecisionModel", "ModelInfo", "Truncate", "describe", "embedded", "load", "nano_model"]

Truncate: TypeAlias = Literal["state"]
"""What may be cut off where a request is longer than a model's window."""

BATCH = 64
"""Records that go through the head together: enough to fill the machine, few enough to stay small."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a model is and reads.

    families: data families it was trained on. size: bytes of its files. digest: of its files; two models with one
    digest answer alike. memory: bytes of its weights by precision, where they can be loaded in several. checked: what
    became of comparing tensors with configurations, where that is done.
    """

    name: str
    digest: str
    description: str
    licence: str
    reads: tuple[str, ...]
    families: tuple[str, ...]
    size: int
    limits: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)
    checked: str = ""


def embedded() -> dict[str, Path]:
    """The models that come with the package, by name."""
    root = Path(str(resources.files("omniclef"))) / "weights"
    return {path.parent.name: path.parent for path in sorted(root.glob("*/config.json"))}


def load(
    model: str | Path = "nano",
    *,
    threads: int | None = None,
    precision: Precision | None = None,
    device: str = "cpu",
    window: int | None = None,
    ids: Literal["faithful", "anonymous"] = "faithful",
    remember: int = 512 << 20,
) -> DecisionModel:
    """A model by the name of an embedded one, from a folder, or a release from the model hub.

    Args:
        model: ``nano``, a folder, or ``owner/name@revision``. A folder is nano's, or a release of the Clef family.
        threads: for computing; None takes the machine's cores.

    The others are for releases:

        precision: ``float32``, ``bfloat16`` or ``int8``; None takes bfloat16 on a GPU and float32 elsewhere. int8 is of
            the language model's matrices, made while they are read, and all else is bfloat16 then.
        device: ``cpu``, ``cuda``, ``cuda:N`` or ``mps``, as torch names them.
        window: most tokens of a prompt; None takes what the publisher's code reads.
        ids: name questions as the caller does, which is what the weights saw in training, or ``anonymous``: Q1, Q2, ...
        remember: bytes of states to keep, so that other questions about one pay for themselves alone; the usage says
            how many tokens were.

    Raises:
        ModelNotFound: there is no such model, or its folder is incomplete.
        IncompleteRelease: tensors are missing, unexpected or of another shape than the configuration says.
        NotEnoughMemory: the weights do not fit.
        MissingExtra: a release needs [torch], int8 [quantized] too.
        InvalidInput: there is no such precision, or no such device here.
    """
    folder = _folder(model)
    if not is_release(folder):
        if precision is not None or device != "cpu" or window is not None or ids != "faithful":
            problem = f"{model!s} runs in float32 on the CPU, has no window and reads no question ids"
            raise InvalidInput("precision, device, window, ids", problem, "leave them out, or load a release")
        return nano_model(Assets(folder, threads))
    release = Release.open(folder)
    try:
        import torch

        from omniclef.backbones.qwen.opening import open_release, require
    except ImportError as error:
        raise MissingExtra(f"running {release.name}", "torch") from error
    if threads:
        torch.set_num_threads(threads)
    chosen = precision or ("bfloat16" if device.startswith("cuda") else "float32")
    require(chosen, device)
    available = free_memory(device)
    if available is not None:
        release.require_memory(chosen, available)
    release.check()
    backbone, head = open_release(release, precision=chosen, device=device, window=window, ids=ids, remember=remember)
    return DecisionModel(backbone, lambda: head, lambda: _release_info(release, "whole"), texts=rendered)


def describe(model: str | Path) -> ModelInfo:
    """What a model is, without loading a release's weights. Its tensors are checked where [torch] is installed.

    Raises:
        ModelNotFound, IncompleteRelease: as ``load``.
    """
    folder = _folder(model)
    if not is_release(folder):
        return nano_model(Assets(folder)).info
    release = Release.open(folder)
    try:
        release.check()
    except MissingExtra:
        return _release_info(release, "not compared, which needs the extra [torch]")
    return _release_info(release, "whole")


def _folder(model: str | Path) -> Path:
    known = embedded()
    if str(model) in known:
        return known[str(model)]
    folder = Path(model)
    if not folder.exists() and is_hub_id(str(model)):
        return snapshot(str(model))
    if not (folder / "config.json").is_file():
        names = ", ".join(known)
        raise ModelNotFound(
            f"model {str(model)!r} is not known; use {names}, a folder that holds a config.json, or owner/name@revision"
        )
    return folder


def nano_model(assets: Assets) -> DecisionModel:
    """The embedded kind of model on files that are open already."""
    return DecisionModel(
        NanoBackbone(assets),
        lambda: assets.head,
        lambda: _nano_info(assets),
        temperatures=assets.config["temperatures"],
        texts=lambda record: [segment.leaves for segment in segments(record.state, leaves=True)],
    )


def _nano_info(assets: Assets) -> ModelInfo:
    config = assets.config
    return ModelInfo(
        name=config["name"],
        digest=assets.digest,
        description=config["description"],
        licence=config["licence"],
        reads=tuple(config["reads"]),
        families=tuple(config["families"]),
        size=sum(path.stat().st_size for path in assets.folder.iterdir() if path.is_file()),
        limits=config["limits"],
    )


def _release_info(release: Release, checked: str) -> ModelInfo:
    return ModelInfo(
        name=release.name,
        digest=release.digest(),
        description=release.description,
        licence=release.licence,
        reads=release.reads,
        families=(),
        size=release.size,
        limits={"tokens": release.window, "options": MAX_OPTIONS, "levels": MAX_LEVELS},
        memory={str(precision): size for precision, size in release.memory().items()},
        checked=checked,
    )


class DecisionModel:
    """Answers typed questions about states, pictures, sounds and clips with probabilities. Safe between threads.

    Args:
        backbone: reads records.
        head: gives the head when it is first needed.
        describe: tells what the model is, when somebody asks.
        temperatures: divisor of logits by question type; 1 where it is not there.
        texts: the texts that a backbone makes of a record's state, as the values in each.
    """

    def __init__(
        self,
        backbone: Backbone,
        head: Callable[[], Head],
        describe: Callable[[], ModelInfo],
        *,
        texts: Callable[[Record], Sequence[Sequence[Leaf]]],
        temperatures: Mapping[str, float] | None = None,
    ) -> None:
        self.backbone = backbone
        self._open_head = head
        self._describe = describe
        self._texts = texts
        self._temperatures = temperatures or {}

    @cached_property
    def info(self) -> ModelInfo:
        """What this model is. Reads its files once, to tell its digest."""
        return self._describe()

    @property
    def head(self) -> Head:
        """The joint schema head."""
        return self._open_head()

    def decide(
        self,
        state: TextLike = "",
        questions: Mapping[str, Any] | None = None,
        *,
        images: Iterable[Source] = (),
        audio: Iterable[Source] = (),
        videos: Iterable[Source] = (),
        confidence: Confidence = "typesafe",
        evidence: bool = False,
        truncate: Truncate | None = None,
        fetch: Fetch | None = None,
    ) -> Decision:
        """Answers every question about one record.

        Args:
            state: text or JSON; may be empty where media say it all.
            questions: id to ``Noul``, ``Choice`` or ``Score``, or to their wire objects.
            images, audio, videos: encoded bytes, paths or data URLs.
            confidence: formula of the confidences, see ``answers.answer``.
            evidence: also tell what each option drew on.
            truncate: ``state`` cuts the end off a state that a model's window has no room for, and the usage says by
                how many tokens; None refuses such a request.
            fetch: called with any http(s) URL among the media; without it URLs are refused.

        Raises:
            InvalidRequest: the state or a question breaks a rule.
            InvalidInput: the request is longer than the model's window.
            MediaError: a medium cannot be read, or asks for more than its budget.
        """
        record = read_record(state, parse_questions(questions), images, audio, videos, fetch)
        return self.decide_records([record], confidence=confidence, evidence=evidence, truncate=truncate)[0]

    def decide_many(
        self,
        states: Iterable[TextLike],
        questions: Mapping[str, Any],
        *,
        confidence: Confidence = "typesafe",
        evidence: bool = False,
        truncate: Truncate | None = None,
    ) -> list[Decision]:
        """Answers the same questions about each state; the questions are read once."""
        parsed = parse_questions(questions)
        records = [Record(state, parsed) for state in states]
        return self.decide_records(records, confidence=confidence, evidence=evidence, truncate=truncate)

    def decide_request(
        self,
        request: Request | Mapping[str, Any],
        *,
        confidence: Confidence = "typesafe",
        evidence: bool = False,
        truncate: Truncate | None = None,
    ) -> Decision:
        """Answers a whole System One request. Its media come as data URLs; nothing is opened or fetched."""
        record = _requested(request)
        return self.decide_records([record], confidence=confidence, evidence=evidence, truncate=truncate)[0]

    def count(self, request: Request | Mapping[str, Any]) -> TokenCount:
        """Input tokens of a whole System One request by modality, before it is answered.

        Raises:
            InvalidInput: the request is longer than the model's window, or breaks a rule.
        """
        record = _requested(request)
        if isinstance(self.backbone, WindowedBackbone):
            return self.backbone.count(record)
        return self.backbone.prefill([record])[0].tokens

    def decide_records(
        self,
        records: Sequence[Record],
        *,
        confidence: Confidence = "typesafe",
        evidence: bool = False,
        truncate: Truncate | None = None,
    ) -> list[Decision]:
        """Answers records whose media are decoded already, each as it would be answered alone (within 1e-4)."""
        if confidence not in CONFIDENCES:
            raise InvalidInput("confidence", f"{confidence!r} is not a formula", f"use {', '.join(CONFIDENCES)}")
        if truncate not in (None, "state"):
            raise InvalidInput("truncate", f"{truncate!r} cannot be cut", 'use "state", or None to refuse')
        decisions = []
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            prefills = self._prefill(batch, truncate)
            scores = self.head(prefills, attention=evidence)
            for record, prefill, found in zip(batch, prefills, scores, strict=True):
                decisions.append(self._decision(record, prefill, found, confidence))
        return decisions

    def _prefill(self, records: Sequence[Record], truncate: Truncate | None) -> list[Prefill]:
        if truncate is not None and isinstance(self.backbone, WindowedBackbone):
            return self.backbone.prefill(records, truncate=True)
        return self.backbone.prefill(records)  # one without a window reads states of any length

    def _decision(self, record: Record, prefill: Prefill, scores: Scores, confidence: Confidence) -> Decision:
        answers = {}
        pieces: dict[str, dict[str, list[Evidence]]] = {}
        drew = None if scores.attention is None else evidence(prefill, self._texts(record), scores.attention)
        start = 0
        for key, question in record.questions.items():
            stop = start + len(question.options())
            p = softmax(scores.logits[start:stop].tolist(), self._temperatures.get(question.type, 1.0))
            answers[key] = answer(question, p, confidence)
            if drew is not None:
                pieces[key] = dict(zip((option.key for option in question.options()), drew[start:stop], strict=True))
            start = stop
        usage = Usage(
            prefill.tokens.total,
            state_tokens_dropped=prefill.dropped,
            cached_tokens=prefill.cached,
            modalities=asdict(prefill.tokens),
        )
        return Decision(self.backbone.name, answers, usage, pieces if drew is not None else None)


def read_record(
    state: TextLike,
    questions: dict[str, Question],
    images: Iterable[Source],
    audio: Iterable[Source],
    videos: Iterable[Source],
    fetch: Fetch | None,
) -> Record:
    """A record with its media decoded, within the budgets on their number and size."""
    given = {"images": list(images), "audio": list(audio), "videos": list(videos)}
    DEFAULT_BUDGETS.check_counts(**{name: len(sources) for name, sources in given.items()})
    return Record(
        state=state,
        questions=questions,
        images=tuple(load_image(s, field=f"images[{i}]", fetch=fetch) for i, s in enumerate(given["images"])),
        audio=tuple(load_audio(s, field=f"audio[{i}]", fetch=fetch) for i, s in enumerate(given["audio"])),
        videos=tuple(load_video(s, field=f"videos[{i}]", fetch=fetch) for i, s in enumerate(given["videos"])),
    )


def _requested(request: Request | Mapping[str, Any]) -> Record:
    asked = request if isinstance(request, Request) else parse_request(request)
    return read_record(asked.state, asked.questions, asked.images, asked.audio, asked.videos, None)
