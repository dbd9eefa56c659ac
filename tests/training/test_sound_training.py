"""Parts of nano's sound tower: the CTranslate2 reader, the masked encoder, synthetic sounds, records."""

import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from omniclef.errors import InvalidInput
from omniclef.training.convert.sound import MelEncoder, SoundGraph, SoundMap, read_ctranslate2
from omniclef.training.corpus import phrases, synth
from omniclef.training.corpus.sounds import coffee_value
from omniclef.training.corpus.speech import Manner, resample, soften
from omniclef.training.corpus.utterances import order_text


def text(value: str) -> bytes:
    raw = value.encode() + b"\0"
    return struct.pack("<H", len(raw)) + raw


def model_bin(version: int = 6) -> bytes:
    half = np.arange(6, dtype="<f2").reshape(2, 3)
    count = np.array(7, dtype="<i2")
    out = struct.pack("<I", version) + text("WhisperSpec") + struct.pack("<II", 3, 2)
    for name, kind, array in (("a/weight", 4, half), ("a/heads", 2, count)):
        out += text(name) + bytes([array.ndim]) + struct.pack(f"<{array.ndim}I", *array.shape)
        out += bytes([kind]) + struct.pack("<I", array.nbytes) + array.tobytes()
    return out + struct.pack("<I", 1) + text("b/weight") + text("a/weight")


def test_tensors_and_aliases_are_read(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(model_bin())
    tensors = read_ctranslate2(tmp_path / "model.bin")
    assert set(tensors) == {"a/weight", "a/heads", "b/weight"}
    assert tensors["b/weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["a/heads"] == 7


@pytest.mark.parametrize("cut", [2, 20, 60, len(model_bin()) - 1])
def test_a_truncated_model_is_refused(tmp_path: Path, cut: int) -> None:
    (tmp_path / "model.bin").write_bytes(model_bin()[:cut])
    with pytest.raises(InvalidInput, match="early"):
        read_ctranslate2(tmp_path / "model.bin")


def test_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(model_bin(version=3))
    with pytest.raises(InvalidInput, match="version 3"):
        read_ctranslate2(tmp_path / "model.bin")


def test_padding_changes_nothing_and_every_real_frame_counts() -> None:
    torch.manual_seed(0)
    graph = SoundGraph(MelEncoder(64, 2, 1), SoundMap(64)).eval()
    torch.nn.init.normal_(graph.encoder.positions)
    mel = torch.randn(1, 80, 56)
    frames = torch.tensor([51])
    mel[:, :, 51:] = 0
    padded = torch.cat([mel, torch.zeros(1, 80, 64)], dim=2)
    with torch.inference_mode():
        short, long = graph(mel, frames), graph(padded, frames)
        changed = mel.clone()
        changed[:, :, 50] += 1
        other = graph(changed, frames)
    assert (short[0] - long[0][:, :7]).abs().max() <= 1e-5
    assert long[0][:, 7:].abs().max() == 0
    for ours, theirs in zip(short[1:], long[1:], strict=True):
        assert (ours - theirs).abs().max() <= 1e-5
    assert (other[0] - short[0]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", list(synth.KINDS))
def test_every_kind_of_sound_is_finite_audible_and_seeded(kind: str) -> None:
    clip = synth.make(kind, np.random.default_rng(3), 0.7)
    assert clip.shape == (11_200,)
    assert clip.dtype == np.float32
    assert np.abs(clip).max() <= 1
    assert np.array_equal(clip, synth.make(kind, np.random.default_rng(3), 0.7))
    assert kind == "silence" or np.sqrt(np.mean(clip**2)) > 1e-4


def test_resampling_keeps_a_tone() -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(22_050) / 22_050)
    ours = resample(tone, 22_050)
    assert len(ours) == 16_000
    wanted = np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    assert np.abs(ours - wanted)[1000:-1000].max() < 1e-3


def test_noise_is_as_loud_as_asked() -> None:
    tone = np.sin(np.arange(32_000) / 5).astype(np.float32)
    clean = soften(tone, Manner(before=0, after=0), np.random.default_rng(0))
    noisy = soften(tone, Manner(before=0, after=0, snr=6.0, hiss=1.0), np.random.default_rng(0))
    level = (noisy @ clean) / (clean @ clean)
    rest = noisy - level * clean
    ratio = 10 * np.log10((level * clean @ (level * clean)) / (rest @ rest))
    assert ratio == pytest.approx(6.0, abs=0.3)


@pytest.mark.parametrize(
    ("slot", "said", "value"),
    [
        ("milkAmount", "a little bit of soy milk", "soy milk"),
        ("milkAmount", " milk", "milk"),
        ("sugarAmount", "lots of brown sugar", "brown sugar"),
        ("size", "twelve ounce", "twelve ounce"),
        ("coffeeDrink", "iced mocha", "iced mocha"),
        ("roast", None, "none"),
    ],
)
def test_what_is_said_in_a_slot_has_one_class(slot: str, said: str | None, value: str) -> None:
    assert coffee_value(slot, said) == value


def test_an_order_reads_as_a_sentence() -> None:
    slots = {"coffeeDrink": "latte", "size": "large", "milkAmount": " soy milk", "roast": "dark roast"}
    assert order_text(slots) == "a large latte with dark roast and soy milk"


def test_composed_orders_say_what_their_slots_hold() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        said, slots = phrases.drink_order(rng)
        assert all(value in said for value in slots.values()), (said, slots)


def test_composed_commands_are_complete() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        said = phrases.command(rng)
        assert "{" not in said
        assert "  " not in said
