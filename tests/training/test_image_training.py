"""Parts of nano's image tower: the network's graph, the map into the text space, drawn scenes, records."""

import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from omniclef.records import parse_questions  # noqa: E402
from omniclef.training.align_image import Alignment, Plan, Texts, fit  # noqa: E402
from omniclef.training.convert.image import FEATURES, MEAN, SCALE, SIDE, Classifier, tower_graph  # noqa: E402
from omniclef.training.corpus import pictures, scenes  # noqa: E402


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def test_the_graph_computes_what_the_network_and_the_alignment_say() -> None:
    torch.manual_seed(0)
    model = Classifier().eval()
    for module in model.modules():  # batch norms that do something, so that folding them can go wrong
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    alignment = Alignment(draw(FEATURES, 8) / 30, draw(8) / 9, draw(FEATURES, 5), draw(5), unit(draw(5, 8)), 0.5, 0.6)
    graph = tower_graph(model, alignment).SerializeToString()
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    pixels = rng.integers(0, 256, (2, SIDE, SIDE, 3), dtype=np.uint8)
    rows, aligned, key = session.run(["rows", "aligned", "key"], {"pixels": pixels})
    with torch.inference_mode():
        planes = torch.from_numpy(pixels).float().permute(0, 3, 1, 2)
        features = model.features((planes - MEAN) * SCALE).flatten(2).mean(2).numpy()
    assert rows.shape == (2, 49, 8)
    np.testing.assert_allclose(key, unit(features), atol=1e-4)
    np.testing.assert_allclose(aligned, alignment.caption(features), atol=1e-3)


def tiny_fit(seed: int) -> tuple[Alignment, np.ndarray, np.ndarray]:
    """Six kinds of picture, of which the classifier knows the first three."""
    rng = np.random.default_rng(3)
    kinds = np.abs(rng.standard_normal((6, FEATURES))).astype(np.float32)
    words = unit(rng.standard_normal((6, 16)))
    which = np.arange(240) % 6
    features = kinds[which] + 0.3 * np.abs(rng.standard_normal((240, FEATURES))).astype(np.float32)
    texts = Texts(words[which], np.arange(240))
    plan = Plan(steps=40, batch=64, rate=1e-3, seed=seed)
    classes = kinds[:3] / FEATURES
    alignment = fit(classes, np.zeros(3, np.float32), Texts(words[:3], np.arange(3)), [features], texts, plan)
    return alignment, kinds, words


def test_the_map_learns_names_and_repeats_itself() -> None:
    alignment, kinds, words = tiny_fit(0)
    assert (alignment.caption(kinds) @ words.T).argmax(1).tolist() == [0, 1, 2, 3, 4, 5]
    again, _, _ = tiny_fit(0)
    assert np.array_equal(alignment.projection, again.projection)


def test_a_picture_without_a_name_is_refused() -> None:
    features = np.ones((3, FEATURES), np.float32)
    words = unit(np.eye(2, 4) + 0.1)
    with pytest.raises(ValueError, match="needs a text"):
        fit(
            features[:2],
            np.zeros(2, np.float32),
            Texts(words, np.arange(2)),
            [features],
            Texts(words, np.arange(2)),
        )


@pytest.mark.parametrize("kind", scenes.KINDS)
def test_scenes_show_what_they_say(kind: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        scene = scenes.draw(rng, kind)
        assert scene.pixels.shape == (128, 128, 3)
        for item in scene.items:
            y, x = int(item.y * 128), int(item.x * 128)
            shown = scene.pixels[y, x].astype(int)
            assert np.abs(shown - scenes.COLOURS[item.colour]).max() <= 20
            assert item.colour != scene.background
        assert (scene.word is not None) == (kind == "word")


@pytest.mark.parametrize(("way", "axis", "sign"), [("left", 1, -1), ("right", 1, 1), ("up", 0, -1), ("down", 0, 1)])
def test_arrows_point_where_they_say(way: str, axis: int, sign: int) -> None:
    points = np.array(scenes.SHAPES[f"arrow pointing {way}"](0.0, 0.0, 1.0))[:, ::-1]
    along, across = points[:, axis] * sign, points[:, 1 - axis]
    assert np.abs(across[along > 0.99]).max() == 0  # the tip is one point on the axis
    assert len(across[along < -0.99]) == 2


def test_plurals() -> None:
    assert scenes.plural(2, "blue star") == "two blue stars"
    assert scenes.plural(1, "cross") == "one cross"
    assert scenes.plural(3, "cross") == "three crosses"
    assert scenes.plural(0, "arrow pointing left") == "no arrows pointing left"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "image"
    folder.mkdir()
    art, clothes = [], []
    for n, category in enumerate(("food/fruit", "animals/birds", "tools") * 4):
        Image.new("RGB", (9, 9), (n * 20, 0, 0)).save(folder / f"{n}.png")
        art.append({"file": f"image/{n}.png", "category": category, "name": f"{category.split('/')[-1]} no {n}"})
        clothes.append({"file": f"image/{n}.png", "label": ("hat", "shoes", "dress")[n % 3]})
    for name, rows in (("openclipart", art), ("clothing", clothes)):
        (folder / f"{name}.train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_records_are_right_and_repeat(data: Path) -> None:
    records = list(pictures.build(data, 1, drawn=150, rounds=1))
    assert {record.family for record in records} >= {"openclipart", "clothing", "scenes_count", "scenes_word"}
    for record in records:
        questions = parse_questions(record.questions)
        assert questions.keys() == record.labels.keys()
        for name, question in record.questions.items():
            label = record.labels[name]
            if question["type"] == "choice":
                assert label in question["criteria"]
            elif question["type"] == "score":
                assert 0 <= label < len(question["criteria"])
            else:
                assert isinstance(label, bool)
        assert all(isinstance(image, np.ndarray) or image.is_file() for image in record.images)
    again = list(pictures.build(data, 1, drawn=150, rounds=1))
    assert [(r.questions, r.labels) for r in records] == [(r.questions, r.labels) for r in again]
