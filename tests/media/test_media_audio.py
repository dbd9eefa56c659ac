"""Sounds: right pitch, level, length and mix out of every format, and every hostile header refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from encoded_media import clip, float_wav, grey_clock, peak_hertz, sound, steady, tone, wav

from omniclef.errors import MediaError
from omniclef.media import Budgets, load_audio

RATE = 44_100


@pytest.mark.parametrize(
    ("container", "codec", "rate", "options"),
    [
        ("wav", "pcm_s16le", 44_100, {}),
        ("wav", "pcm_u8", 8_000, {}),
        ("wav", "pcm_s24le", 96_000, {}),
        ("wav", "pcm_f32le", 16_000, {}),
        ("mp3", "libmp3lame", 44_100, {}),
        ("mp3", "libmp3lame", 16_000, {"write_xing": "0", "id3v2_version": "0"}),
        ("flac", "flac", 48_000, {}),
        ("ogg", "libopus", 48_000, {}),
        ("ogg", "vorbis", 44_100, {}),
        ("ipod", "aac", 44_100, {}),
        ("ipod", "aac", 48_000, {"movflags": "frag_keyframe+empty_moov"}),
        ("webm", "libopus", 48_000, {"live": "1"}),
    ],
)
def test_formats(container: str, codec: str, rate: int, options: dict[str, str]) -> None:
    samples = load_audio(sound(tone(1.5, rate), rate, container, codec, options))
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert abs(samples.size - 24_000) < 1_700  # encoders pad to whole blocks
    assert abs(peak_hertz(samples) - 440) < 1
    middle = samples[4_000:20_000]
    assert abs(np.sqrt(np.mean(middle**2)) - 0.5 / np.sqrt(2)) < 0.02


def test_wav_length_is_exact() -> None:
    assert load_audio(wav(tone(2, 16_000), 16_000)).size == 32_000
    assert abs(load_audio(wav(tone(2, 44_100), 44_100)).size - 32_000) <= 1
    assert np.allclose(load_audio(wav(tone(1, 16_000), 16_000)), tone(1, 16_000), atol=1e-4)


def test_high_tones_do_not_fold_back() -> None:
    assert np.abs(load_audio(wav(tone(1, 48_000, hertz=12_000), 48_000))[1_000:-1_000]).max() < 0.01


def test_stereo_is_mixed_as_for_the_released_models() -> None:
    stereo = np.stack([tone(1, 16_000), np.zeros(16_000, np.float32)], axis=1)
    assert np.allclose(load_audio(wav(stereo, 16_000)), tone(1, 16_000) * np.sqrt(0.5), atol=1e-3)


@pytest.mark.parametrize("channels", [3, 4, 6, 8])
def test_many_channels_are_averaged_and_none_is_lost(channels: int) -> None:
    quiet = np.zeros((16_000, channels), np.float32)
    for heard in range(channels):
        samples = quiet.copy()
        samples[:, heard] = tone(1, 16_000, level=0.8)
        mixed = load_audio(wav(samples, 16_000))
        assert mixed.size == 16_000
        assert np.allclose(mixed, tone(1, 16_000, level=0.8) / channels, atol=1e-3)
    everywhere = np.repeat(tone(1, 48_000, level=1.0)[:, None], channels, axis=1)
    mixed = load_audio(wav(everywhere, 48_000))
    assert abs(peak_hertz(mixed) - 440) < 1
    assert 0.98 < np.abs(mixed[1_000:-1_000]).max() < 1.02


def test_silence_is_sound_and_nothing_is_not() -> None:
    silent = load_audio(wav(np.zeros(8_000, np.float32), 16_000))
    assert silent.size == 8_000
    assert not silent.any()
    with pytest.raises(MediaError, match=r"audio\[0\]: the audio stream is empty \(0 samples\)"):
        load_audio(wav(np.zeros(0, np.float32), 16_000))


def test_the_sound_of_a_video_can_be_asked_for() -> None:
    frames = grey_clock(steady(1, 10))
    samples = load_audio(clip(frames, samples=tone(1, 48_000)))
    assert abs(peak_hertz(samples) - 440) < 1
    with pytest.raises(MediaError, match="the MP4 or MOV has no audio stream"):
        load_audio(clip(frames))


def header(data: bytes, *, channels: int = 1, rate: int = 16_000, size: int | None = None) -> bytes:
    """A 16-bit WAV with a header that claims what it is told to."""
    form = struct.pack(
        "<HHIIHH", 1, channels, rate, rate * channels * 2 & 0xFFFFFFFF, channels * 2 & 0xFFFF, 16
    )
    claim = struct.pack("<I", len(data) if size is None else size)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + claim + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_a_header_that_claims_hours() -> None:
    with pytest.raises(MediaError, match=r"cut short: 364 of 230,400,044 bytes"):
        load_audio(header(b"\0" * 320, size=2 * 3600 * 16_000 * 2))
    flac = bytearray(sound(tone(0.5, 16_000), 16_000, "flac", "flac"))
    at = 8 + 14  # total samples: the low 32 of 36 bits in the stream info block
    flac[at : at + 4] = struct.pack(">I", 2 * 3600 * 16_000)
    with pytest.raises(
        MediaError, match=r"the header claims 7200\.0 s, the limit is 300 s; send a shorter piece"
    ):
        load_audio(bytes(flac))
    flac[at : at + 4] = struct.pack(">I", 20 * 16_000)
    with pytest.raises(MediaError, match=r"cut short: 0\.50 s of the 20\.00 s that its header claims"):
        load_audio(bytes(flac))


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_wav_written_into_a_pipe_reads_to_its_end(size: int) -> None:
    data = (tone(0.5, 16_000) * 32767).astype("<i2").tobytes()
    samples = load_audio(header(data, size=size))
    assert abs(samples.size - 8_000) <= 64
    assert abs(peak_hertz(samples) - 440) < 2


def test_the_length_limit_counts_decoded_sound_too() -> None:
    budget = Budgets(audio_seconds=2.0)
    assert load_audio(wav(tone(2, 16_000), 16_000), budget=budget).size == 32_000
    long = tone(3, 16_000)
    with pytest.raises(MediaError, match=r"the header claims 3\.0 s, the limit is 2 s"):
        load_audio(wav(long, 16_000), budget=budget)
    unsaid = sound(long, 16_000, "mp3", "libmp3lame", {"write_xing": "0"})
    with pytest.raises(MediaError, match=r"lasts over 2\.\d s, the limit is 2 s"):
        load_audio(unsaid, budget=budget)


def test_channels_and_sample_rates_have_limits() -> None:
    nine = wav(np.zeros((160, 9), np.float32), 16_000)
    with pytest.raises(MediaError, match="9 channels, the limit is 8; mix the sound down"):
        load_audio(nine)
    assert load_audio(nine, budget=Budgets(audio_channels=9)).size == 160
    for rate in (1, 999, 384_001, 2_000_000_000):
        with pytest.raises(
            MediaError, match=rf"sample rate of {rate:,} Hz, the limits are 1,000 to 384,000 Hz"
        ):
            load_audio(header(b"\0" * 64, rate=rate))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_not_a_number_never_leaves(bad: float) -> None:
    samples = tone(0.5, 16_000)
    samples[4_000] = bad
    with pytest.raises(MediaError, match="samples that are no sound"):
        load_audio(float_wav(samples, 16_000))
    assert load_audio(float_wav(tone(0.5, 16_000, level=1.5), 16_000)).max() > 1.4  # overshoot is left alone


def test_a_deadline_stops_a_slow_decode() -> None:
    with pytest.raises(MediaError, match="decoding took longer than the limit of 0 s"):
        load_audio(wav(tone(1, 16_000), 16_000), budget=Budgets(decode_seconds=0.0))


@pytest.mark.parametrize(
    ("container", "codec", "rate"),
    [
        ("wav", "pcm_s16le", 16_000),
        ("mp3", "libmp3lame", 44_100),
        ("flac", "flac", 16_000),
        ("ogg", "libopus", 48_000),
        ("ipod", "aac", 44_100),
        ("webm", "libopus", 48_000),
    ],
)
def test_a_truncated_sound_is_never_answered_in_part(container: str, codec: str, rate: int) -> None:
    noise = np.random.default_rng(3).uniform(-0.5, 0.5, 2 * rate).astype(np.float32)
    data = sound(noise, rate, container, codec)
    whole = load_audio(data).size
    refused = 0
    for cut in np.linspace(1, 0.9 * len(data), 40).astype(int):
        try:
            samples = load_audio(data[:cut])
        except MediaError:
            refused += 1
        else:  # Ogg tells its length only in its pages: cut between two of them it is a shorter file
            assert container == "ogg"
            assert 0 < samples.size < whole
    assert refused > 30


def test_a_torn_frame_at_the_end_of_an_mp3_is_skipped() -> None:
    data = sound(tone(1, 44_100), 44_100, "mp3", "libmp3lame", {"write_xing": "0"})
    assert abs(load_audio(data[:-100]).size - load_audio(data).size) < 3 * 1152
