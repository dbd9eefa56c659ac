"""The joint schema head: equal to the publisher's, batched equal to alone, exported equal to torch."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

from omniclef.backbones.base import Head, Prefill, Scores
from omniclef.backbones.nano.head import OnnxHead
from omniclef.backbones.padding import batches, pad
from omniclef.errors import InvalidInput
from omniclef.head import (
    Attention,
    HeadConfig,
    JointSchemaHead,
    TorchHead,
    _Mask,
    from_hidden,
    pool_rows,
    pool_spans,
)
from omniclef.training.export import export_head

CONFIGS = [
    HeadConfig(hidden_size=40, width=32, routing_layers=1, layers=2, heads=4, feedforward=64),
    HeadConfig(hidden_size=64, width=48, routing_layers=2, layers=3, heads=3, feedforward=80),
    HeadConfig(hidden_size=24, width=32, routing_layers=3, layers=1, heads=8, feedforward=48),
    HeadConfig(hidden_size=96, width=64, routing_layers=2, layers=2, heads=2, feedforward=128),
]
VOCABULARY = 300


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    import tiny_release  # here, because a test below imports this file from a place that does not know the other

    return tiny_release.oracle("dense")


def make_head(config: HeadConfig, seed: int) -> JointSchemaHead:
    """Random weights everywhere, the norms and the three scalars included, so that each of them shows."""
    torch.manual_seed(seed)
    head = JointSchemaHead(config).eval()
    with torch.no_grad():
        for name, tensor in head.named_parameters():
            if tensor.ndim == 1:
                tensor.copy_(0.3 * torch.randn_like(tensor) + (1.0 if name.endswith("norm.weight") else 0.0))
        head.prior_logit_scale.fill_(1.3)
        head.joint_logit_scale.fill_(1.1)
        head.residual_gate.fill_(0.6)
    return head


def make_prefill(seed: int, hidden: int, counts: list[int], rows: int, *, examples: bool = False) -> Prefill:
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    total = sum(counts)
    return Prefill(
        memory=normal(rows, hidden),
        anchor=normal(hidden),
        questions=normal(len(counts), hidden),
        options=normal(total, hidden),
        lexical=normal(total, hidden),
        owners=np.repeat(np.arange(len(counts)), counts),
        types=rng.integers(0, 3, len(counts)),
        bias=normal(total) if examples else None,
    )


def assert_same(left: list[Scores], right: list[Scores], tolerance: float) -> None:
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a.logits, b.logits, atol=tolerance, rtol=0)
        assert (a.attention is None) == (b.attention is None)
        if a.attention is not None and b.attention is not None:
            np.testing.assert_allclose(a.attention, b.attention, atol=tolerance, rtol=0)


def schema(rng: np.random.Generator, number: int) -> tuple[list[int], int]:
    """Options of each question and prompt length; sizes are spread over their orders of magnitude."""
    if number == 0:
        return [255] * 64, 700
    if number == 1:
        return [1], 1
    questions = int(np.exp(rng.uniform(0, math.log(64.99))))
    most = 255 if questions <= 6 else 24
    return [int(np.exp(rng.uniform(0, math.log(most + 0.99)))) for _ in range(questions)], int(rng.integers(2, 300))


def spans(rng: np.random.Generator, count: int, length: int) -> np.ndarray:
    starts = rng.integers(0, length, count)
    return np.stack([starts, np.minimum(length, starts + rng.integers(1, 9, count))], axis=1)


def test_equals_the_publishers_head(oracle: ModuleType) -> None:
    rng = np.random.default_rng(7)
    heads = []
    for seed, config in enumerate(CONFIGS):
        theirs = oracle.JointSchemaHead(**config.to_dict()).eval()
        ours = make_head(config, seed)
        theirs.load_state_dict(ours.state_dict(), strict=True)
        ours.load_state_dict(theirs.state_dict(), strict=True)
        heads.append((ours, theirs))
    worst = 0.0
    for number in range(200):
        ours, theirs = heads[number % len(heads)]
        counts, length = schema(rng, number)
        asked, offered = spans(rng, len(counts), length), spans(rng, sum(counts), length)
        types = rng.integers(0, 3, len(counts))
        hidden = torch.from_numpy(2 * rng.standard_normal((length, ours.config.hidden_size)).astype(np.float32))
        embeddings = torch.from_numpy(rng.standard_normal((VOCABULARY, ours.config.hidden_size)).astype(np.float32))
        ids = torch.from_numpy(rng.integers(0, VOCABULARY, length))
        questions, first = [], 0
        for question, count in enumerate(counts):
            questions.append(
                oracle.EncodedQuestion(
                    question_id=f"q{question}",
                    question_type=int(types[question]),
                    question_span=tuple(asked[question]),
                    option_spans=tuple(map(tuple, offered[first : first + count])),
                    option_ids=tuple(map(str, range(count))),
                )
            )
            first += count
        record = oracle.EncodedRecord(tuple(ids.tolist()), tuple(questions), "r")
        with torch.inference_mode():
            expected = torch.cat(theirs(hidden[None], ids[None], torch.ones(1, length), [record], embeddings)[0])
            inputs = from_hidden(
                ours,
                hidden,
                ids,
                embeddings,
                torch.from_numpy(asked),
                torch.from_numpy(offered),
                torch.arange(len(counts)).repeat_interleave(torch.tensor(counts)),
                torch.from_numpy(types),
            )
            found, _ = ours(**inputs, chunk=None if number % 2 else 1024)
        worst = max(worst, float((found[0] - expected).abs().max()))
    assert worst <= 1e-5


def test_release_tensors_load_by_their_names() -> None:
    config = CONFIGS[1]
    head = JointSchemaHead(config)
    names = set(head.state_dict())
    norms = {f"{name}_norm" for name in ("hidden", "option_summary", "field", "option")}
    parts = ("memory", "question", "option_question", "global", "option_context", "option_lexical")
    expected = {f"{part}_projection.weight" for part in parts} | {"type_embedding.weight"}
    expected |= {"prior_logit_scale", "joint_logit_scale", "residual_gate"}
    attention = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    pairs = {"residual_scorer.0", "residual_scorer.3"} | norms
    for layer in range(config.routing_layers):
        base = f"evidence_layers.{layer}"
        pairs |= {f"{base}.{norm}_norm" for norm in ("query", "memory", "feedforward")}
        pairs |= {f"{base}.feedforward.0", f"{base}.feedforward.3"}
        expected |= {f"{base}.attention.{name}" for name in attention}
    for layer in range(config.layers):
        base = f"layers.{layer}"
        pairs |= {f"{base}.{name}" for name in ("linear1", "linear2", "norm1", "norm2", "norm3")}
        expected |= {f"{base}.{kind}.{name}" for kind in ("self_attn", "multihead_attn") for name in attention}
    expected |= {f"{pair}.{end}" for pair in pairs for end in ("weight", "bias")}
    assert names == expected


def test_config_round_trip_and_errors() -> None:
    values = CONFIGS[0].to_dict()
    assert HeadConfig.from_dict({**values, "architecture": "joint"}) == CONFIGS[0]
    del values["dropout"]
    assert HeadConfig.from_dict(values).dropout == 0.0
    del values["heads"]
    with pytest.raises(InvalidInput, match="joint_head_config: lacks heads"):
        HeadConfig.from_dict(values)
    with pytest.raises(InvalidInput, match="5 heads do not divide width 32"):
        HeadConfig(hidden_size=8, width=32, routing_layers=1, layers=1, heads=5, feedforward=8)


@pytest.fixture(scope="module")
def module() -> JointSchemaHead:
    return make_head(CONFIGS[1], 5)


@pytest.fixture(scope="module")
def session(module: JointSchemaHead, tmp_path_factory: pytest.TempPathFactory) -> ort.InferenceSession:
    path = tmp_path_factory.mktemp("head") / "head.onnx"
    export_head(module, path)
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.fixture(params=["torch", "onnx"])
def head(request: pytest.FixtureRequest, module: JointSchemaHead, session: ort.InferenceSession) -> Head:
    return TorchHead(module) if request.param == "torch" else OnnxHead(session)


MIXED = [
    ([4, 2, 3, 1], 64),
    ([77], 10),
    ([1], 1),
    ([2] * 20, 300),
    ([5, 9], 0),
    ([255, 3], 33),
    ([2, 2, 7, 1, 1], 60),
    ([4, 6], 1),
    ([6, 6, 4, 1], 70),
    ([1, 2, 1, 1, 1, 6], 56),
]


def mixed(hidden: int) -> list[Prefill]:
    return [
        make_prefill(seed, hidden, counts, rows, examples=seed % 3 == 0) for seed, (counts, rows) in enumerate(MIXED)
    ]


def test_a_batch_equals_its_records_alone(head: Head) -> None:
    prefills = mixed(CONFIGS[1].hidden_size)
    assert sorted(map(len, batches(prefills)))[-2:] == [2, 4]
    together = head(prefills, attention=True)
    assert_same(together, [head([p], attention=True)[0] for p in prefills], 2e-6)


def test_padding_changes_nothing(module: JointSchemaHead) -> None:
    prefills = mixed(CONFIGS[1].hidden_size)
    inputs = {name: torch.from_numpy(value) for name, value in pad(prefills).items()}
    padding = ~inputs["memory_mask"], ~inputs["question_mask"], inputs["owners"] < 0
    with torch.inference_mode():
        zeros, weights = module(**inputs, attention=True)
        for name, where in zip(("memory", "questions", "options"), padding, strict=True):
            inputs[name] = inputs[name].masked_fill(where.unsqueeze(-1), 1e3)
        noise, noisy_weights = module(**inputs, attention=True)
        for row, prefill in enumerate(prefills):
            options = len(prefill.owners)
            alone, _ = module(**{k: torch.from_numpy(v) for k, v in pad([prefill]).items()})
            torch.testing.assert_close(zeros[row, :options], alone[0], atol=2e-6, rtol=0)
            # The same sums in the same order: what stands in the padding must not reach them at all.
            assert torch.equal(zeros[row, :options], noise[row, :options])
            assert torch.equal(weights[row, :options], noisy_weights[row, :options])


def test_attention_rows_are_shares(head: Head) -> None:
    for prefill, scores in zip(
        mixed(CONFIGS[1].hidden_size), head(mixed(CONFIGS[1].hidden_size), attention=True), strict=True
    ):
        assert scores.attention is not None
        assert scores.attention.shape == (len(prefill.owners), len(prefill.memory))
        assert (scores.attention >= 0).all()
        if len(prefill.memory):
            np.testing.assert_allclose(scores.attention.sum(axis=1), 1, atol=1e-5)
    assert head(mixed(CONFIGS[1].hidden_size))[0].attention is None


def test_attention_is_the_last_routing_layers(module: JointSchemaHead) -> None:
    """Recomputed with torch's own attention from the layers of the head."""
    prefill = make_prefill(3, CONFIGS[1].hidden_size, [3, 4], 17)
    found = TorchHead(module)([prefill], attention=True)[0].attention
    with torch.inference_mode():
        memory = module.project(torch.from_numpy(prefill.memory))[None]
        questions = torch.from_numpy(prefill.questions)[torch.from_numpy(prefill.owners)]
        rows = (
            module.option_context_projection(torch.from_numpy(prefill.options))
            + module.option_lexical_projection(torch.from_numpy(prefill.lexical))
            + module.option_question_projection(questions)
        )[None]
        for layer in module.evidence_layers:
            theirs = torch.nn.MultiheadAttention(module.config.width, module.config.heads, batch_first=True)
            theirs.load_state_dict(layer.attention.state_dict())
            seen = layer.memory_norm(memory)
            read, weights = theirs(layer.query_norm(rows), seen, seen, need_weights=True)
            rows = rows + read
            rows = rows + layer.feedforward(layer.feedforward_norm(rows))
    np.testing.assert_allclose(found, weights[0], atol=1e-6)


@pytest.mark.parametrize("kept", [(40, 40), (40, 3), (40, 0)])
def test_rows_give_what_keys_and_values_give(kept: tuple[int, int]) -> None:
    torch.manual_seed(4)
    attention = Attention(32, 4, dropout=0.0).eval()
    torch.nn.init.normal_(attention.in_proj_bias)
    queries, memory = torch.randn(2, 3, 32), torch.randn(2, 40, 32)
    mask = _Mask.of(torch.arange(40) < torch.tensor(kept)[:, None], torch.float32)
    with torch.inference_mode():
        few, many = attention.prepare(memory, 1), attention.prepare(memory, 1000)
        assert few is memory
        assert isinstance(many, tuple)
        for weights in (True, False):
            for found, expected in zip(
                attention(queries, few, mask, weights), attention(queries, many, mask, weights), strict=True
            ):
                torch.testing.assert_close(found, expected, atol=2e-6, rtol=0)


def test_a_record_without_memory_reads_zeros(module: JointSchemaHead) -> None:
    prefill = make_prefill(1, CONFIGS[1].hidden_size, [2, 3], 0)
    inputs = {name: torch.from_numpy(value) for name, value in pad([prefill]).items()}
    with torch.inference_mode():
        masked, _ = module(**inputs)
        inputs["memory"], inputs["memory_mask"] = inputs["memory"][:, :0], inputs["memory_mask"][:, :0]
        empty, weights = module(**inputs, attention=True)
        # With no row to read, attention is its output bias; the same follows when all it reads is zero.
        silent = make_head(module.config, 5)
        for name, tensor in silent.named_parameters():
            if name.endswith("out_proj.weight") and "self_attn" not in name:
                tensor.zero_()
        expected, _ = silent(**{k: torch.from_numpy(v) for k, v in pad([prefill]).items()})
    assert torch.isfinite(masked).all()
    assert weights.shape == (1, 5, 0)
    torch.testing.assert_close(masked, empty, atol=1e-6, rtol=0)
    torch.testing.assert_close(masked, expected, atol=1e-6, rtol=0)


def test_examples_are_added_to_the_logits(head: Head) -> None:
    plain = make_prefill(2, CONFIGS[1].hidden_size, [3, 4], 9)
    guided = make_prefill(2, CONFIGS[1].hidden_size, [3, 4], 9, examples=True)
    assert guided.bias is not None
    np.testing.assert_allclose(head([guided])[0].logits, head([plain])[0].logits + guided.bias, atol=1e-6, rtol=0)


def test_trust_fades_the_joint_part_and_leaves_the_prior(head: Head) -> None:
    whole = make_prefill(2, CONFIGS[1].hidden_size, [3, 4], 9)
    other = replace(whole, memory=make_prefill(3, CONFIGS[1].hidden_size, [3, 4], 9).memory)
    none, half = np.zeros(7, np.float32), np.full(7, 0.5, np.float32)
    full = head([whole])[0].logits
    prior = head([replace(whole, trust=none)])[0].logits
    assert np.abs(full - head([other])[0].logits).max() > 1e-3
    # What the prior says does not depend on the evidence.
    np.testing.assert_allclose(prior, head([replace(other, trust=none)])[0].logits, atol=1e-5, rtol=0)
    np.testing.assert_allclose(head([replace(whole, trust=half)])[0].logits, (full + prior) / 2, atol=1e-5, rtol=0)


def test_scale_multiplies_before_the_bias_is_added(head: Head) -> None:
    plain = make_prefill(2, CONFIGS[1].hidden_size, [3, 4], 9)
    scale, bias = np.linspace(0.1, 2, 7, dtype=np.float32), np.arange(7, dtype=np.float32)
    found = head([replace(plain, scale=scale, bias=bias)])[0].logits
    np.testing.assert_allclose(found, head([plain])[0].logits * scale + bias, atol=1e-5, rtol=0)


def reordered(prefill: Prefill, questions: np.ndarray, options: np.ndarray) -> Prefill:
    """Question k of the result is ``questions[k]`` of ``prefill``; option j is ``options[j]``."""
    places = np.argsort(questions)
    return Prefill(
        memory=prefill.memory,
        anchor=prefill.anchor,
        questions=prefill.questions[questions],
        options=prefill.options[options],
        lexical=prefill.lexical[options],
        owners=places[prefill.owners[options]],
        types=prefill.types[questions],
    )


def test_order_of_questions_and_options_moves_nothing(head: Head) -> None:
    rng = np.random.default_rng(11)
    prefill = make_prefill(4, CONFIGS[1].hidden_size, [4, 1, 30, 2, 9], 50)
    questions = rng.permutation(5)
    places = np.argsort(questions)
    options = rng.permutation(len(prefill.owners))
    options = options[np.argsort(places[prefill.owners[options]], kind="stable")]
    expected = head([prefill], attention=True)[0]
    found = head([reordered(prefill, questions, options)], attention=True)[0]
    assert expected.attention is not None
    assert_same([found], [Scores(expected.logits[options], expected.attention[options])], 2e-6)


def test_questions_see_each_other(head: Head) -> None:
    prefill = make_prefill(6, CONFIGS[1].hidden_size, [3, 3], 12)
    alone = reordered(prefill, np.array([0, 1]), np.arange(6))
    changed = make_prefill(7, CONFIGS[1].hidden_size, [3, 3], 12)
    alone.questions[1] = changed.questions[1]
    difference = np.abs(head([prefill])[0].logits - head([alone])[0].logits)
    assert difference[:3].max() > 1e-4


@pytest.mark.parametrize("counts", [[1], [4, 2, 3], [255], [2] * 64])
@pytest.mark.parametrize("rows", [0, 1, 64, 900])
def test_the_export_equals_torch(
    module: JointSchemaHead, session: ort.InferenceSession, counts: list[int], rows: int
) -> None:
    prefill = make_prefill(rows, CONFIGS[1].hidden_size, counts, rows)
    assert_same(OnnxHead(session)([prefill], attention=True), TorchHead(module)([prefill], attention=True), 1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.routing_layers}+{c.layers}")
def test_every_config_exports(config: HeadConfig, tmp_path: Path) -> None:
    head = make_head(config, 9)
    export_head(head, tmp_path / "head.onnx")
    session = ort.InferenceSession(str(tmp_path / "head.onnx"), providers=["CPUExecutionProvider"])
    prefills = mixed(config.hidden_size)
    assert_same(OnnxHead(session)(prefills, attention=True), TorchHead(head)(prefills, attention=True), 1e-5)
    graph = onnx.load(str(tmp_path / "head.onnx")).graph
    operators = [node.op_type for node in graph.node]
    assert operators.count("Softmax") == config.routing_layers + 2 * config.layers + 1
    assert operators.count("Shape") == 1  # the number of questions, and no size measured for a reshape
    assert "Identity" not in operators


def test_chunks_change_nothing(module: JointSchemaHead) -> None:
    prefill = make_prefill(8, CONFIGS[1].hidden_size, [100, 7, 30], 40)
    inputs = {name: torch.from_numpy(value) for name, value in pad([prefill]).items()}
    with torch.inference_mode():
        whole, shares = module(**inputs, attention=True)
        for chunk in (1, 50, 137, 1000):
            logits, weights = module(**inputs, attention=True, chunk=chunk)
            torch.testing.assert_close(logits, whole, atol=2e-6, rtol=0)
            torch.testing.assert_close(weights, shares, atol=1e-6, rtol=0)


LARGEST = """
import resource, torch
from tests.test_head import HeadConfig, TorchHead, make_head, make_prefill
torch.set_num_threads(1)
head = TorchHead(make_head(HeadConfig(32, 32, 1, 1, 8, 64), 1))
head([make_prefill(1, 32, [2], 3)], attention=True)
prefill = make_prefill(1, 32, [255] * 64, 1000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
head([prefill], attention=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_largest_schema_stays_small() -> None:
    """64 x 255 options over 1,000 rows at 8 heads: their weights held at once would take 522 MB, twice."""
    root = Path(__file__).parent.parent
    run = subprocess.run([sys.executable, "-c", LARGEST], capture_output=True, text=True, cwd=root, check=True)
    assert int(run.stdout) < 400e3  # kilobytes


def test_training_reaches_every_tensor() -> None:
    head = make_head(CONFIGS[0], 2).train()
    inputs = {k: torch.from_numpy(v) for k, v in pad(mixed(CONFIGS[0].hidden_size)).items()}
    logits, _ = head(**inputs)
    logits[inputs["owners"] >= 0].square().sum().backward()
    for name, tensor in head.named_parameters():
        assert tensor.grad is not None, name
        assert torch.isfinite(tensor.grad).all(), name
        assert tensor.grad.abs().max() > 0, name


def test_pooling() -> None:
    table = torch.randn(50, 6)
    where = torch.tensor([[0, 1], [3, 9], [2, 50], [49, 50], [4, 6]])
    expected = torch.stack([table[start:end].mean(0) for start, end in where.tolist()])
    torch.testing.assert_close(pool_spans(table, where), expected)
    rows, lengths = torch.tensor([4, 4, 0, 7]), torch.tensor([1, 0, 3])
    expected = torch.stack([table[4], torch.zeros(6), table[[4, 0, 7]].mean(0)])
    torch.testing.assert_close(pool_rows(table, rows, lengths), expected)


def test_batches_keep_padding_and_size_bounded() -> None:
    rng = np.random.default_rng(3)
    prefills = [
        make_prefill(i, 4, [int(rng.integers(1, 200))] * int(rng.integers(1, 4)), int(rng.integers(0, 900)))
        for i in range(300)
    ]
    groups = batches(prefills)
    assert sorted(index for group in groups for index in group) == list(range(300))
    for group in groups:
        found = [(len(p.options), len(p.memory), len(p.questions)) for p in (prefills[i] for i in group)]
        low, high = np.min(found, axis=0), np.max(found, axis=0)
        assert (high <= 1.5 * low + 4).all()
        assert len(group) == 1 or len(group) * max(high) <= 4096
        assert len(group) == 1 or len(group) * high[0] * high[1] <= 1 << 21
    assert len(batches([make_prefill(i, 4, [10], 30) for i in range(64)])) == 1
    assert list(map(len, batches([make_prefill(i, 4, [10], 1500) for i in range(4)]))) == [2, 2]
    assert batches([]) == []
