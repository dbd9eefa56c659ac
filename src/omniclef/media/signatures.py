"""What some bytes are, told from the bytes themselves, and whether the container says that more should
follow.

File names and declared types are not believed. libav is only ever given the demuxer named here: left to
guess, it would also accept playlists, which open other files and addresses.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Kind", "Signature", "missing_bytes", "sniff"]

Kind = Literal["image", "audio", "video", "other"]


class Signature(NamedTuple):
    """A recognised format. ``reader`` is Pillow's or libav's name for it; empty where it is known but not
    read.
    """

    name: str
    kind: Kind
    reader: str = ""


PREFIXES: tuple[tuple[bytes, Signature], ...] = (
    (b"\x89PNG\r\n\x1a\n", Signature("PNG", "image", "PNG")),
    (b"\xff\xd8\xff", Signature("JPEG", "image", "JPEG")),
    (b"GIF87a", Signature("GIF", "image", "GIF")),
    (b"GIF89a", Signature("GIF", "image", "GIF")),
    (b"fLaC", Signature("FLAC", "audio", "flac")),
    (b"OggS", Signature("Ogg", "audio", "ogg")),
    (b"\x1aE\xdf\xa3", Signature("Matroska or WebM", "video", "matroska")),
    (b"II*\x00", Signature("TIFF", "image")),
    (b"MM\x00*", Signature("TIFF", "image")),
    (b"BM", Signature("BMP", "image")),
    (b"FORM", Signature("AIFF", "audio")),
    (b"MThd", Signature("MIDI", "other")),
    (b"%PDF-", Signature("PDF", "other")),
    (b"PK\x03\x04", Signature("ZIP", "other")),
    (b"\x1f\x8b", Signature("gzip", "other")),
    (b"#EXTM3U", Signature("playlist", "other")),
    (b"<", Signature("HTML, XML or SVG", "other")),
    (b"{", Signature("JSON", "other")),
)
RIFF_FORMS = {
    b"WEBP": Signature("WebP", "image", "WEBP"),
    b"WAVE": Signature("WAV", "audio", "wav"),
    b"AVI ": Signature("AVI", "video"),
}
MP4 = Signature("MP4 or MOV", "video", "mp4")
MP4_BRANDS = {
    b"M4A ": Signature("M4A", "audio", "mp4"),
    b"M4B ": Signature("M4A", "audio", "mp4"),
    b"heic": Signature("HEIC", "image"),
    b"heix": Signature("HEIC", "image"),
    b"mif1": Signature("HEIC", "image"),
    b"avif": Signature("AVIF", "image"),
    b"avis": Signature("AVIF", "image"),
}
# QuickTime files older than the ftyp box begin with one of these instead.
QUICKTIME_BOXES = {b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}
MP3 = Signature("MP3", "audio", "mp3")


def sniff(data: bytes) -> Signature | None:
    """The format of ``data`` by its first bytes, or None."""
    if data[:4] in (b"RIFF", b"RF64"):
        return RIFF_FORMS.get(data[8:12])
    if data[4:8] == b"ftyp":
        return MP4_BRANDS.get(data[8:12], MP4)
    if data[4:8] in QUICKTIME_BOXES:
        return MP4
    start = id3_length(data)
    if start or is_mp3_frame(data):
        return next(s for p, s in PREFIXES if p == b"fLaC") if data[start : start + 4] == b"fLaC" else MP3
    return next((signature for prefix, signature in PREFIXES if data.startswith(prefix)), None)


def id3_length(data: bytes) -> int:
    """Bytes taken by an ID3v2 tag at the start; its size is four groups of seven bits."""
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    a, b, c, d = data[6:10]
    return 10 + (a << 21 | b << 14 | c << 7 | d)


def is_mp3_frame(data: bytes) -> bool:
    """A frame header of MPEG audio layer III: 11 sync bits, then no reserved bitrate or sample rate."""
    if len(data) < 4 or data[0] != 0xFF:
        return False
    return data[1] & 0xE6 == 0xE2 and data[2] >> 4 != 0xF and data[2] >> 2 & 3 != 3


def has_mp3_length(data: bytes) -> bool:
    """Whether the first frame of an MP3 tells the length. Without it libav guesses one from the bit rate."""
    start = id3_length(data)
    head = data[start : start + 4096]
    return any(tag in head for tag in (b"Xing", b"Info", b"VBRI"))


def missing_bytes(data: bytes, signature: Signature) -> int:
    """How many bytes the container promises past the end of ``data``; 0 where it promises none or cannot
    tell.
    """
    measure = {"wav": wav_end, "mp4": mp4_end, "matroska": matroska_end, "ogg": ogg_end}.get(signature.reader)
    return max(0, measure(data) - len(data)) if measure else 0


def wav_end(data: bytes) -> int:
    """Sizes of 0 and 2^32 - 1 are what programs write into a pipe: length unknown, not missing."""
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"data":
            return at + 8 + size if size not in (0, 0xFFFFFFFF) else 0
        at += 8 + size + size % 2
    return 0


def mp4_end(data: bytes) -> int:
    """End of the last box that carries media or their index; other boxes may be anything."""
    at = end = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if size == 1:
            size = int.from_bytes(data[at + 8 : at + 16], "big")
        if size < 8:  # 0 is "to the end of the file"
            break
        if data[at + 4 : at + 8] in (b"mdat", b"moov", b"moof"):
            end = at + size
        at += size
    return end


def matroska_end(data: bytes) -> int:
    """End of the segment; a size of all ones is a live recording of unknown length."""
    at = 4
    _, header, size = ebml_size(data, at)
    at += header + size
    if data[at : at + 4] != b"\x18\x53\x80\x67":
        return 0
    known, header, size = ebml_size(data, at + 4)
    return at + 4 + header + size if known else 0


def ebml_size(data: bytes, at: int) -> tuple[bool, int, int]:
    """(whether the size is known, bytes it takes, its value) of the variable-length number at ``at``."""
    if at >= len(data) or data[at] == 0:
        return False, 1, 0
    length = 9 - data[at].bit_length()
    value = int.from_bytes(data[at : at + length], "big") & ((1 << 7 * length) - 1)
    return value != (1 << 7 * length) - 1, length, value


def ogg_end(data: bytes) -> int:
    """End of the last page, from the table of segment lengths that each page begins with."""
    at = 0
    while data[at : at + 4] == b"OggS":
        if at + 27 > len(data):
            return at + 27
        segments = data[26 + at]
        at += 27 + segments + sum(data[at + 27 : at + 27 + segments])
    return at
