"""Releases in each precision: a small trained one answers alike in all of them, and takes the memory that is told."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tiny_release
import torch
import torch.nn.functional as F

import omniclef
from omniclef.backbones.qwen.backbone import QwenBackbone
from omniclef.head import TorchHead, from_hidden
from omniclef.records import Record, parse_questions
from omniclef.release import PRECISIONS, Precision, Release, shrinks, write

FAMILIES: tuple[tiny_release.Family, ...] = ("omni", "dense")
WORDS = ("bulk", "foxy", "jazz", "pygmy")
OTHERS = (
    "the",
    "east",
    "is",
    "near",
    "once",
    "seen",
    "town",
    "and",
    "then",
    "road",
    "door",
    "date",
    "it",
    "met",
    "some",
)
QUESTIONS = parse_questions(
    {"word": {"type": "choice", "instructions": "Which word is there?", "criteria": dict.fromkeys(WORDS)}}
)
STEPS = {"omni": 60, "dense": 40}
HELD_OUT = 200
DOUBTFUL = 100
ROUNDED: tuple[Precision, ...] = ("bfloat16", "int8")


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """One thread: matrices this small gain nothing from more, and lose much where processors are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cases(count: int, seed: int) -> list[tuple[Record, int]]:
    """States of common words with one of ``WORDS`` among them, and which one."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        right = chance.randrange(len(WORDS))
        words = chance.choices(OTHERS, k=chance.randint(2, 6))
        words.insert(chance.randint(0, len(words)), WORDS[right])
        made.append((Record(" ".join(words), QUESTIONS), right))
    return made


def parts(model: omniclef.DecisionModel) -> tuple[QwenBackbone, Any]:
    backbone, head = model.backbone, model.head
    assert isinstance(backbone, QwenBackbone)
    assert isinstance(head, TorchHead)
    return backbone, head.module


def train(folder: Path, steps: int, rate: float = 3e-3, batch: int = 8) -> omniclef.DecisionModel:
    """The release in ``folder`` with backbone and head trained together on ``cases``, new ones each step."""
    model = omniclef.load(folder)
    backbone, head = parts(model)
    network = backbone.network
    with network.whole() as whole:
        weights = [*whole.parameters(), *head.parameters()]
        with torch.no_grad():
            for tensor in whole.parameters():
                tensor.mul_(0.5 if tensor.ndim > 1 else 1.0)  # tiny releases are larger than is good for learning
    optimizer = torch.optim.AdamW(weights, lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for step in range(steps):
        group = cases(batch, 1000 + step)
        prompts = [backbone.writer.write(record, (), truncate=False) for record, _ in group]
        texts = [torch.tensor(prompt.tokens) for prompt in prompts]
        tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
        hidden = network.hidden(tokens, mask, {})
        logits = []
        for rows, text, prompt in zip(hidden, texts, prompts, strict=True):
            placed = [torch.tensor(x) for x in (prompt.questions, prompt.options, prompt.owners, prompt.types)]
            logits.append(head(**from_hidden(head, rows[: len(text)], text, network.table, *placed))[0].flatten())
        loss = F.cross_entropy(torch.stack(logits), torch.tensor([right for _, right in group]), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
    return model


@pytest.fixture(scope="module", params=["omni", pytest.param("dense", marks=pytest.mark.slow)])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp(request.param)
    base = tiny_release.build(root / "base", request.param)
    torch.manual_seed(0)
    model = train(base, STEPS[request.param])
    backbone, head = parts(model)
    with backbone.network.whole() as whole:
        return write(root / "trained", whole, head, Release.open(base)).folder


def doubtful(count: int) -> list[Record]:
    """States with two of the words, so that probabilities of every size come up."""
    chance = random.Random(1)
    pairs = [chance.sample(WORDS, 2) for _ in range(count)]
    return [Record(" ".join(chance.sample([*chance.choices(OTHERS, k=4), *pair], 6)), QUESTIONS) for pair in pairs]


def probabilities(folder: Path, precision: Precision, records: list[Record]) -> npt.NDArray[np.float64]:
    """[N, 4]"""
    found = []
    for decision in omniclef.load(folder, precision=precision).decide_records(records):
        answer = decision.answers["word"]
        assert isinstance(answer, omniclef.ChoiceAnswer)
        found.append([answer.probabilities[word] for word in WORDS])
    return np.array(found)


def test_a_trained_model_answers_alike_in_every_precision(trained: Path) -> None:
    labelled = cases(HELD_OUT, 0)
    records = [record for record, _ in labelled] + doubtful(DOUBTFUL)
    exact = probabilities(trained, "float32", records)
    chosen = exact.argmax(axis=1)
    assert (chosen[:HELD_OUT] == [right for _, right in labelled]).mean() > 0.95
    assert exact[:HELD_OUT].max(axis=1).mean() > 0.85
    for precision in ROUNDED:
        rounded = probabilities(trained, precision, records)
        moved = np.abs(rounded - exact)
        sure, doubted = moved[:HELD_OUT], moved[HELD_OUT:]
        assert (rounded.argmax(axis=1) == chosen)[:HELD_OUT].all()
        assert 0 < sure.max() < 0.003
        assert sure.mean() < 0.0003
        assert doubted.max() < 0.06
        assert doubted.mean() < 0.004


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_release.build(tmp_path_factory.mktemp("release") / request.param, request.param)


def held(tensor: torch.Tensor) -> int:
    """Bytes of a tensor, which for one of torchao's are those of its parts."""
    if not hasattr(tensor, "qdata"):
        return tensor.nbytes
    return sum(part.nbytes for part in (tensor.qdata, tensor.scale, tensor.zero_point))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_memory_is_what_a_loaded_release_holds(folder: Path, precision: Precision) -> None:
    backbone, head = parts(omniclef.load(folder, precision=precision))
    with backbone.network.whole() as network:
        measured = sum(held(tensor) for tensor in [*network.parameters(), *head.parameters()])
    told = Release.open(folder).memory()
    assert measured == told[precision]
    with pytest.raises(omniclef.OmniclefError, match="are missing"):
        Release.open(folder).require_memory(precision, measured - 1)


def test_int8_is_of_the_matrices_that_are_named_and_nothing_else_changes(folder: Path) -> None:
    rounded, head = parts(omniclef.load(folder, precision="int8"))
    plain, same = parts(omniclef.load(folder, precision="bfloat16"))
    release = Release.open(folder)
    assert all(torch.equal(tensor, same.state_dict()[name]) for name, tensor in head.state_dict().items())
    with rounded.network.whole() as ours, plain.network.whole() as theirs:
        found = dict(ours.named_parameters())
        expected: dict[str, torch.Tensor] = {}
        for name, tensor in theirs.named_parameters():
            fused = {f"{name}.{number}": matrix for number, matrix in enumerate(tensor)} if tensor.ndim == 3 else {}
            expected |= fused if name.endswith(("experts.gate_up_proj", "experts.down_proj")) else {name: tensor}
        assert found.keys() == expected.keys()
        whole = 0
        for name, tensor in found.items():
            if hasattr(tensor, "qdata"):
                whole += tensor.numel()
                # Half a step of 127, and what bfloat16 rounds.
                largest = expected[name].float().abs().amax(dim=1, keepdim=True)
                assert ((tensor.dequantize() - expected[name]).abs() <= largest * (0.5 / 127 + 2**-8)).all(), name
            else:
                assert tensor.dtype == torch.bfloat16
                assert torch.equal(tensor, expected[name]), name
        assert whole == sum(np.prod(shape) for name, shape in release.tensors.items() if shrinks(name, shape))
        buffers = dict(ours.named_buffers())
        assert buffers.keys() == dict(theirs.named_buffers()).keys()
        assert all(torch.equal(buffers[name], buffer) for name, buffer in theirs.named_buffers())


def test_most_of_a_release_is_int8() -> None:
    layer = "thinker.model.layers.0"
    for name in (
        f"{layer}.mlp.experts.7.up_proj",
        f"{layer}.self_attn.o_proj",
        "model.language_model.layers.3.mlp.up_proj",
    ):
        assert shrinks(f"{name}.weight", (8, 8))
    for name in (
        f"{layer}.mlp.gate",
        "thinker.model.embed_tokens",
        "thinker.lm_head",
        "thinker.audio_tower.layers.0.self_attn.q_proj",
        "model.visual.blocks.0.attn.qkv",
        "model.language_model.layers.0.linear_attn.in_proj_a",
    ):
        assert not shrinks(f"{name}.weight", (8, 8))


def test_a_tied_output_layer_is_the_embeddings(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    tied = tiny_release.build(tmp_path / "tied", "dense")
    weights = load_file(tied / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, tied / "model.safetensors", {"format": "pt"})
    config = (tied / "config.json").read_text()
    (tied / "config.json").write_text(config.replace('"tie_word_embeddings": false', '"tie_word_embeddings": true'))
    backbone, _ = parts(omniclef.load(tied, precision="int8"))
    with backbone.network.whole() as network:
        assert network.get_output_embeddings().weight is network.get_input_embeddings().weight


def test_media_are_read_in_int8(folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 56, 3), np.uint8)
    record = Record("look", QUESTIONS, images=(pixels,))
    for precision in ROUNDED:
        exact, rounded = (
            omniclef.load(folder, precision=p).decide_records([record])[0] for p in ("float32", precision)
        )
        pairs = zip(*(decision.answers["word"].probabilities.values() for decision in (exact, rounded)), strict=True)
        assert max(abs(one - other) for one, other in pairs) < 0.05


def test_errors_of_the_switch_are_one_line(folder: Path, cli: Any) -> None:
    with pytest.raises(omniclef.InvalidInput, match=r"precision: 'int3' is not known; use float32, bfloat16, int8"):
        omniclef.load(folder, precision="int3")  # type: ignore[arg-type]
    for device in ("cuda:99", "gpu", "cuda:x", ""):
        with pytest.raises(omniclef.InvalidInput, match=rf"device: torch finds no '{device}' on this machine; use cpu"):
            omniclef.load(folder, device=device)
    if not torch.backends.mps.is_available():
        with pytest.raises(omniclef.InvalidInput, match="device: torch finds no 'mps'"):
            omniclef.load(folder, precision="int8", device="mps")
    with pytest.raises(omniclef.InvalidInput, match="nano runs in float32 on the CPU"):
        omniclef.load(precision="int8")
    told = cli("ask", "--model", folder, "--state", "x", "--noul", "q=Is it?", "--device", "cuda:99")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    told = cli("eval", "sst5", "--device", "cuda:0")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)


def test_int8_without_its_library_says_what_to_install(folder: Path) -> None:
    script = (
        "import sys\n"
        "sys.modules['torchao'] = None\n"
        "import omniclef\n"
        "omniclef.load(sys.argv[1], precision='bfloat16')\n"
        "try:\n"
        "    omniclef.load(sys.argv[1], precision='int8')\n"
        "except omniclef.MissingExtra as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("precision int8 needs the extra [quantized]; install it with: pip install 'omniclef[q")
