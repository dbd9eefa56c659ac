"""The sound tower on the model's own weights."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import omniclef
from omniclef.backbones.nano.sound import RATE, WINDOW_SECONDS, SoundTower, log_mel

WEIGHTS = Path(omniclef.__file__).parent / "weights" / "nano" / "sound.onnx"


@pytest.fixture(scope="module")
def tower() -> SoundTower:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return SoundTower(ort.InferenceSession(WEIGHTS, options, providers=["CPUExecutionProvider"]))


def sweep(seconds: float, seed: int = 0) -> np.ndarray:
    t = np.arange(round(seconds * RATE)) / RATE
    rng = np.random.default_rng(seed)
    tone = np.sin(2 * np.pi * (200 + 150 * seed) * t * (1 + 0.2 * t / max(seconds, 1e-3)))
    return (0.3 * tone + 0.02 * rng.standard_normal(len(t))).astype(np.float32)


def slaney_reference(samples: np.ndarray) -> np.ndarray:
    """Whisper's features by the book: the clip padded to 30 s, a transform per frame, and a filter at a
    time.
    """
    whole = np.zeros(30 * RATE)
    whole[: len(samples)] = samples
    whole = np.pad(whole, 200, mode="reflect")
    hann = np.hanning(401)[:-1]

    def mel(hertz: float) -> float:
        return 3 * hertz / 200 if hertz < 1000 else 15 + 27 * np.log(hertz / 1000) / np.log(6.4)

    def hertz(value: float) -> float:
        return 200 * value / 3 if value < 15 else 1000 * 6.4 ** ((value - 15) / 27)

    edges = [hertz(value) for value in np.linspace(mel(0), mel(8000), 82)]
    bins = np.arange(201) * 40.0
    rows = []
    for low, centre, high in zip(edges, edges[1:], edges[2:], strict=False):
        triangle = np.interp(bins, [low, centre, high], [0, 1, 0], left=0, right=0)
        rows.append(triangle * 2 / (high - low))
    frames = -(-len(samples) // 160)
    power = np.stack([np.abs(np.fft.rfft(whole[160 * i : 160 * i + 400] * hann)) ** 2 for i in range(frames)])
    log = np.log10(np.maximum(power @ np.stack(rows).T, 1e-10))
    return ((np.maximum(log, log.max() - 8) + 4) / 4).T


@pytest.mark.parametrize("samples", [1, 100, 400, 7_777, 48_000, 30 * RATE - 5, 30 * RATE])
def test_log_mel_follows_whispers_formula(samples: int) -> None:
    clip = sweep(samples / RATE, 1)[:samples]
    assert np.abs(log_mel(clip) - slaney_reference(clip)).max() <= 1e-4


def test_log_mel_equals_the_feature_extractor_of_transformers() -> None:
    extractor = pytest.importorskip("transformers").WhisperFeatureExtractor(feature_size=80)
    for seconds in (0.3, 4.21, 30.0):
        clip = sweep(seconds, 2)
        theirs = extractor(clip, sampling_rate=RATE, return_tensors="np")["input_features"][0]
        ours = log_mel(clip)
        assert np.abs(ours - theirs[:, : ours.shape[1]]).max() <= 1e-4


def test_shapes_and_unit_vectors(tower: SoundTower) -> None:
    (sound,) = tower.encode([sweep(2.0)])
    assert sound.rows.shape == (25, 384)
    assert sound.seconds == pytest.approx(0.08)
    assert np.linalg.norm(sound.aligned) == pytest.approx(1, abs=1e-4)
    assert np.linalg.norm(sound.key) == pytest.approx(1, abs=1e-4)


def test_a_clip_does_not_depend_on_its_company(tower: SoundTower) -> None:
    clips = [sweep(seconds, seed) for seed, seconds in enumerate((0.4, 3.0, 1.27, 12.0))]
    together = tower.encode(clips)
    for clip, sound in zip(clips, together, strict=True):
        (alone,) = tower.encode([clip])
        for name in ("rows", "aligned", "key"):
            assert np.abs(getattr(alone, name) - getattr(sound, name)).max() <= 1e-4


def test_padding_in_the_graph_changes_nothing(tower: SoundTower) -> None:
    picture = log_mel(sweep(1.27, 3))
    frames = picture.shape[1]
    outputs = []
    for length, clips in ((-(-frames // 8) * 8, 1), (400, 1), (400, 2)):
        mel = np.zeros((clips, 80, length), np.float32)
        mel[0, :, :frames] = picture
        if clips > 1:
            mel[1, :, :333] = log_mel(sweep(3.33, 4))
        counts = np.array([frames, 333][:clips], dtype=np.int64)
        rows, aligned, key = tower._session.run(["rows", "aligned", "key"], {"mel": mel, "frames": counts})
        outputs.append((rows[0, : -(-frames // 8)], aligned[0], key[0]))
    for other in outputs[1:]:
        for ours, theirs in zip(outputs[0], other, strict=True):
            assert np.abs(ours - theirs).max() <= 1e-4


@pytest.mark.parametrize("samples", [1, 2, 159, 160, 161, 399, 400])
def test_a_very_short_clip_is_one_row_or_so(tower: SoundTower, samples: int) -> None:
    (sound,) = tower.encode([sweep(1.0)[:samples]])
    assert len(sound.rows) == 1
    assert np.isfinite(sound.rows).all()
    assert np.isfinite(sound.key).all()


@pytest.mark.parametrize("level", [0.0, 1e-8, 1.0])
def test_silence_and_full_scale_are_finite(tower: SoundTower, level: float) -> None:
    (sound,) = tower.encode([np.full(RATE, level, np.float32)])
    assert np.isfinite(sound.rows).all()
    assert np.linalg.norm(sound.aligned) == pytest.approx(1, abs=1e-4)


def test_a_long_clip_is_read_to_its_end(tower: SoundTower) -> None:
    clip = np.concatenate([sweep(2 * WINDOW_SECONDS + 3.0), sweep(1.0, 6)])
    (sound,) = tower.encode([clip])
    assert len(sound.rows) == 300
    changed = clip.copy()
    changed[-RATE // 2 :] = 0
    (other,) = tower.encode([changed])
    assert np.abs(other.rows[200:] - sound.rows[200:]).max() > 1e-2
    assert np.abs(other.rows[:100] - sound.rows[:100]).max() <= 1e-4
    assert np.linalg.norm(sound.key) == pytest.approx(1, abs=1e-4)


def test_five_minutes_work(tower: SoundTower) -> None:
    (sound,) = tower.encode([np.tile(sweep(3.0), 100)])
    assert sound.rows.shape == (3750, 384)


def test_an_empty_clip_is_refused(tower: SoundTower) -> None:
    with pytest.raises(ValueError, match="at least one sample"):
        tower.encode([np.zeros(0, np.float32)])
