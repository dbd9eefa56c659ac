"""Makes the demo's picture, sound and clip: drawn with numpy and Pillow, spoken by espeak-ng, composed with
PyAV.

    python tools/make_demo_media.py [folder]

Needs the espeak-ng program. The files it made are in the package, so nobody has to run this.
"""

from __future__ import annotations

import io
import math
import subprocess
import sys
import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

Floats = npt.NDArray[np.float64]
Samples = npt.NDArray[np.float32]

DEMO = Path(__file__).resolve().parent.parent / "src" / "omniclef" / "demo"
RATE = 16_000
ORDER = "A large cappuccino with oat milk to go, please."
ANNOUNCEMENT = "The train on platform two is now leaving."
LARGEST = 150_000  # bytes a file may take


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEMO
    folder.mkdir(parents=True, exist_ok=True)
    photo().save(folder / "photo.jpg", quality=90)
    write_wav(folder / "order.wav", spoken(ORDER, voice="en-gb", words_a_minute=165))
    write_clip(folder / "clip.mp4")
    for name in ("photo.jpg", "order.wav", "clip.mp4"):
        size = (folder / name).stat().st_size
        print(f"{name}: {size:,} bytes")
        assert size < LARGEST, name


# The picture: three pieces of fruit on a wooden table, by tracing one ray for each quarter of a pixel.

WIDTH, HEIGHT, SUPERSAMPLING = 640, 480, 2
LIGHT = np.array([-0.55, 0.75, -0.45]) / np.linalg.norm([-0.55, 0.75, -0.45])
FRUIT = (  # centre, radius, colour, depth of the peel's dimples
    ((-1.15, 1.0, 3.9), 1.0, (0.98, 0.36, 0.02), 0.055),
    ((1.15, 0.85, 3.5), 0.85, (0.95, 0.33, 0.02), 0.055),
    ((0.15, 0.62, 2.9), 0.62, (0.36, 0.60, 0.06), 0.004),
)


def photo() -> Image.Image:
    width, height = WIDTH * SUPERSAMPLING, HEIGHT * SUPERSAMPLING
    x, y = np.meshgrid((np.arange(width) + 0.5) / width - 0.5, 0.5 - (np.arange(height) + 0.5) / height)
    rays = np.stack([x * 1.25, y * 0.94 - 0.30, np.ones_like(x)], axis=-1)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    eye = np.array([0.0, 2.4, -0.6])
    colour, depth = background(rays, eye)
    for centre, radius, skin, dimples in FRUIT:
        distance = sphere_distance(rays, eye, np.array(centre), radius)
        hit = distance < depth
        points = eye + rays[hit] * distance[hit, None]
        colour[hit] = fruit_colour(points, rays[hit], np.array(centre), radius, np.array(skin), dimples)
        depth = np.where(hit, distance, depth)
    noise = np.random.default_rng(7).normal(0, 0.012, colour.shape)
    pixels = (np.clip(colour + noise, 0, 1) ** (1 / 2.2) * 255).astype(np.uint8)
    return Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def sphere_distance(rays: Floats, origin: Floats, centre: Floats, radius: float) -> Floats:
    """Distance along each ray to the sphere, infinite where it passes by or lies behind."""
    toward = centre - origin
    along = rays @ toward
    inside = radius**2 - ((toward * toward).sum(-1) - along**2)
    near = along - np.sqrt(np.maximum(inside, 0))
    return np.where((inside > 0) & (near > 1e-4), near, np.inf)


def background(rays: Floats, eye: Floats) -> tuple[Floats, Floats]:
    """A wall with a soft light on it and a wooden table with the shadows of the fruit."""
    glow = np.exp(-((rays[..., 0] + 0.35) ** 2 * 3 + (rays[..., 1] - 0.1) ** 2 * 5))
    colour = np.array([0.30, 0.27, 0.23]) + glow[..., None] * np.array([0.30, 0.27, 0.21])
    with np.errstate(divide="ignore"):
        depth = np.where(rays[..., 1] < -1e-3, -eye[1] / rays[..., 1], np.inf)
    table = depth < 9.0
    points = eye + rays[table] * depth[table, None]
    rings = points[:, 0] * 2.2 + 0.35 * np.sin(points[:, 2] * 1.3) + 0.1 * np.sin(points[:, 2] * 6.1)
    grain = 0.5 + 0.3 * np.sin(rings * 9) + 0.2 * np.sin(rings * 41 + points[:, 2])
    wood = np.array([0.30, 0.16, 0.07]) + grain[:, None] * np.array([0.17, 0.10, 0.05])
    wood *= np.where(np.abs(points[:, 0] / 1.7 % 1.0) < 0.012, 0.35, 1.0)[:, None]
    light = np.ones(len(points))
    for centre, radius, *_ in FRUIT:
        across = np.array(centre) - points
        off = np.linalg.norm(across - (across @ LIGHT)[:, None] * LIGHT, axis=-1) / radius
        light *= np.clip(0.25 + (off - 0.8) / 0.45, 0.25, 1.0)
        under = np.linalg.norm(points[:, ::2] - np.array(centre)[::2], axis=-1) / radius
        light *= np.clip(0.45 + under * 0.6, 0.45, 1.0)
    colour[table] = wood * light[:, None] * (0.75 + 0.5 * np.exp(-points[:, 2] / 5))[:, None]
    return colour, np.where(table, depth, np.inf)


def fruit_colour(
    points: Floats, rays: Floats, centre: Floats, radius: float, skin: Floats, dimples: float
) -> Floats:
    normal = (points - centre) / radius
    bumps = np.stack([np.sin(points @ (direction * 95.0) + phase) for direction, phase in WAVES], axis=-1)
    normal = normal + dimples * bumps @ np.stack([direction for direction, _ in WAVES])
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    direct = np.clip(normal @ LIGHT, 0, 1)
    for other, other_radius, *_ in FRUIT:
        if not np.allclose(other, centre):
            across = np.array(other) - points
            ahead = across @ LIGHT
            off = np.linalg.norm(across - ahead[:, None] * LIGHT, axis=-1) / other_radius
            direct *= np.where(ahead > 0, np.clip(0.2 + (off - 0.85) / 0.3, 0.2, 1.0), 1.0)
    half = LIGHT - rays
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    shine = np.clip((normal * half).sum(-1), 0, 1) ** 50 * direct
    bounce = np.clip(-normal[:, 1], 0, 1)[:, None] * np.array([0.12, 0.06, 0.02])
    mottle = 1 + 0.06 * np.sin(points[:, :1] * 9 + points[:, 1:2] * 7) * np.sin(points[:, 2:] * 8)
    stalk = np.hypot(points[:, 0] - centre[0], points[:, 2] - centre[2] + 0.25 * radius) / radius
    pit = np.clip(stalk / 0.11, 0.25, 1.0)[:, None]
    return skin * mottle * pit * (0.16 + 0.95 * direct[:, None]) + bounce + 0.45 * shine[:, None]


def random_waves(count: int) -> list[tuple[Floats, float]]:
    random = np.random.default_rng(3)
    directions = random.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return [
        (direction, float(phase))
        for direction, phase in zip(directions, random.uniform(0, 6, count), strict=True)
    ]


WAVES = random_waves(14)


# The sounds.


def spoken(text: str, *, voice: str, words_a_minute: int) -> Samples:
    """float32 [T] at 16 kHz, peak 0.8, with a little room at both ends."""
    command = ["espeak-ng", "-v", voice, "-s", str(words_a_minute), "--stdout", text]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    with av.open(io.BytesIO(data), format="wav") as container:
        frames = [f for frame in container.decode(audio=0) for f in resampler.resample(frame)]
    speech = np.concatenate([f.to_ndarray()[0] for f in [*frames, *resampler.resample(None)]])
    heard = np.flatnonzero(np.abs(speech) > 0.01 * np.abs(speech).max())
    speech = speech[heard[0] : heard[-1]] * (0.8 / np.abs(speech).max())
    return np.pad(speech, RATE // 10).astype(np.float32)


def write_wav(path: Path, samples: Samples) -> None:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes((samples * 32767).astype("<i2").tobytes())


def station_sound(seconds: float) -> Samples:
    """A two-tone chime, the announcement, then the wheels."""
    random = np.random.default_rng(11)
    sound = random.normal(0, 0.004, round(seconds * RATE))
    for start, hertz in ((0.2, 659.3), (0.7, 523.3)):
        at = np.arange(round(0.9 * RATE)) / RATE
        place = round(start * RATE)
        sound[place : place + at.size] += 0.3 * np.sin(2 * math.pi * hertz * at) * np.exp(-4 * at)
    speech = spoken(ANNOUNCEMENT, voice="en-us+f3", words_a_minute=150)
    sound[round(1.6 * RATE) : round(1.6 * RATE) + speech.size] += speech
    at = np.arange(sound.size) / RATE
    clatter = np.convolve(random.normal(0, 1, sound.size), np.ones(24) / 24, mode="same")
    knocks = 0.3 + np.exp(-((at * 2.4 % 1.0) * 9)) + np.exp(-(((at * 2.4 - 0.25) % 1.0) * 9))
    sound += clatter * knocks * np.clip((at - MOVES) / 2, 0, 1) * 0.5
    return np.clip(sound, -0.95, 0.95).astype(np.float32)


# The clip: a train leaves as its signal turns from red to green.

SIZE, FPS, SECONDS, MOVES = (320, 240), 12, 8, 4.2


def station(at: float) -> Image.Image:
    scale = 2
    width, height = SIZE[0] * scale, SIZE[1] * scale
    image = Image.new("RGB", (width, height), (150, 190, 225))
    draw = ImageDraw.Draw(image)
    for row in range(260):
        draw.line([(0, row), (width, row)], fill=(120 + row // 4, 165 + row // 6, 215 + row // 12))
    draw.polygon(
        [(0, 260), (150, 170), (300, 235), (460, 150), (640, 245), (640, 300), (0, 300)], fill=(88, 122, 90)
    )
    draw.rectangle([0, 290, width, 380], fill=(112, 104, 96))
    for sleeper in range(-10, width, 36):
        draw.rectangle([sleeper, 368, sleeper + 20, 376], fill=(74, 58, 46))
    draw.rectangle([0, 362, width, 367], fill=(70, 70, 76))
    moved = 90.0 * max(0.0, at - MOVES) ** 2
    for wagon, colour in enumerate(((196, 40, 44), (232, 226, 214), (196, 40, 44))):
        draw_wagon(draw, round(40 + wagon * 235 - 235 + moved), colour)
    draw.rectangle([0, 378, width, height], fill=(176, 172, 166))
    draw.rectangle([0, 378, width, 386], fill=(238, 208, 70))
    draw_signal(draw, green=at >= 3.4)
    return image.filter(ImageFilter.GaussianBlur(0.8)).resize(SIZE, Image.Resampling.LANCZOS)


def draw_wagon(draw: ImageDraw.ImageDraw, left: int, colour: tuple[int, int, int]) -> None:
    draw.rounded_rectangle([left, 200, left + 226, 346], 16, fill=colour, outline=(40, 40, 46), width=2)
    draw.rectangle([left + 226, 320, left + 236, 330], fill=(40, 40, 46))
    draw.rectangle([left + 2, 300, left + 224, 316], fill=(44, 56, 92))
    for window in range(4):
        x = left + 16 + window * 52
        draw.rounded_rectangle([x, 222, x + 38, 276], 6, fill=(58, 78, 98), outline=(30, 34, 40), width=2)
        draw.line([(x + 8, 268), (x + 26, 230)], fill=(120, 150, 172), width=4)
    for wheel in (30, 66, 160, 196):
        draw.ellipse(
            [left + wheel - 15, 336, left + wheel + 15, 366],
            fill=(46, 46, 50),
            outline=(120, 120, 124),
            width=3,
        )


def draw_signal(draw: ImageDraw.ImageDraw, *, green: bool) -> None:
    draw.rectangle([566, 150, 574, 400], fill=(60, 62, 66))
    draw.rounded_rectangle([546, 70, 594, 168], 12, fill=(26, 28, 30))
    draw.ellipse([554, 78, 586, 110], fill=(70, 20, 20) if green else (250, 40, 36))
    draw.ellipse([554, 126, 586, 158], fill=(60, 240, 110) if green else (16, 58, 28))


def write_clip(path: Path) -> None:
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as out:
        picture = out.add_stream("libx264", rate=FPS, options={"crf": "27", "preset": "slow"})
        picture.width, picture.height, picture.pix_fmt = *SIZE, "yuv420p"
        sound = out.add_stream("aac", rate=RATE, layout="mono")
        sound.bit_rate = 40_000
        for index in range(SECONDS * FPS):
            out.mux(picture.encode(av.VideoFrame.from_image(station(index / FPS))))
        out.mux(picture.encode(None))
        samples = station_sound(SECONDS)
        for start in range(0, samples.size, 1024):
            frame = av.AudioFrame.from_ndarray(
                samples[None, start : start + 1024], format="fltp", layout="mono"
            )
            frame.sample_rate, frame.pts, frame.time_base = RATE, start, Fraction(1, RATE)
            out.mux(sound.encode(frame))
        out.mux(sound.encode(None))


if __name__ == "__main__":
    main()
