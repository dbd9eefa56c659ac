"""Ways in: memory, files, data URLs, fetchers; what each refuses, and that it does so before reading."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from omniclef.errors import MediaError
from omniclef.media import Budgets
from omniclef.media.signatures import sniff
from omniclef.media.sources import identify, read_source

BODY = bytes(range(256)) * 3
ENCODED = base64.b64encode(BODY).decode()


def read(source, limit: int = 1000, fetch=None) -> bytes:
    return read_source(source, field="images[1]", limit=limit, fetch=fetch)


@pytest.mark.parametrize(
    "source",
    [
        BODY,
        bytearray(BODY),
        memoryview(BODY),
        f"data:image/png;base64,{ENCODED}",
        f"DATA:image/png;charset=x;BASE64,{ENCODED}",
        f"data:;base64,{quote(ENCODED, safe='')}",
        f"data:application/octet-stream,{quote(BODY)}",
        {"content_type": "image/png", "base64": ENCODED},
        {"content_type": "image/png", "base64": "\r\n".join(ENCODED[k : k + 76] for k in range(0, 1024, 76))},
        {"base64": ENCODED.rstrip("=")},
    ],
    ids=lambda source: f"{type(source).__name__}-{str(source)[:24]}",
)
def test_every_shape_gives_the_same_bytes(source) -> None:
    assert read(source) == BODY


def test_paths(tmp_path: Path) -> None:
    file = tmp_path / "a picture: 1.png"
    file.write_bytes(BODY)
    assert read(file) == read(str(file)) == BODY
    with pytest.raises(MediaError, match=r"images\[1\].*no-such.*No such file"):
        read(tmp_path / "no-such.png")
    with pytest.raises(MediaError, match="is not a file"):
        read(str(tmp_path))
    with pytest.raises(MediaError, match="cannot be read"):
        read("bad\0name")
    with pytest.raises(MediaError, match="cannot be read"):
        read("x" * 100_000)


def test_a_colon_in_a_file_name_is_no_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("take:1.wav").write_bytes(BODY)
    assert read("take:1.wav") == BODY


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(MediaError, match="is not a file"):
        read(pipe)


def test_only_the_fetcher_sees_urls() -> None:
    with pytest.raises(MediaError, match="URLs are not fetched; pass fetch="):
        read("https://example.org/a.png")
    seen = []
    assert read("HTTP://example.org/a.png", fetch=lambda url: seen.append(url) or BODY) == BODY
    assert seen == ["HTTP://example.org/a.png"]

    def broken(url: str) -> bytes:
        raise TimeoutError("no answer\nin time")

    with pytest.raises(MediaError, match=r"could not be fetched \(no answer in time\)"):
        read("https://example.org/a.png", fetch=broken)
    with pytest.raises(MediaError, match="fetch returned str"):
        read("https://example.org/a.png", fetch=lambda url: "text")
    for other in ("ftp://example.org/a.png", "file:///a.png", "rtsp://example.org/a"):
        with pytest.raises(MediaError, match=r"the scheme '\w+' is not read"):
            read(other, fetch=lambda url: BODY)


@pytest.mark.parametrize(
    "source",
    [BODY, f"data:,{quote(BODY)}", f"data:;base64,{ENCODED}", {"base64": ENCODED}, "https://example.org"],
    ids=["bytes", "percent", "base64", "object", "fetched"],
)
def test_the_byte_budget_holds_exactly(source) -> None:
    assert read(source, limit=768, fetch=lambda url: BODY) == BODY
    with pytest.raises(MediaError, match=r"768 bytes, the limit is 767"):
        read(source, limit=767, fetch=lambda url: BODY)


def test_a_large_file_is_refused_by_its_size_alone(tmp_path: Path) -> None:
    file = tmp_path / "sparse.png"
    with file.open("wb") as out:
        out.truncate(1 << 40)  # a terabyte of nothing: reading it would fill the memory
    with pytest.raises(MediaError, match=r"1,099,511,627,776 bytes, the limit is 1,000"):
        read(file)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (b"", r"is empty \(0 bytes\)"),
        ("data:,", "is empty"),
        ("data:image/png;base64", "without a comma"),
        ("data:image/png;base64,@@@@", "not valid base64"),
        ("data:image/png;base64,AAAAA", "not valid base64"),
        ("data:image/png;base64,ÄÖÜß", "not valid base64"),
        ({"content_type": "image/png"}, 'without a string "base64"'),
        ({"base64": 7}, 'without a string "base64"'),
        (None, "cannot read media from NoneType"),
        (3.5, "cannot read media from float"),
    ],
)
def test_malformed_sources(source, problem: str) -> None:
    with pytest.raises(MediaError, match=problem) as caught:
        read(source)
    assert caught.value.field == "images[1]"
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"RIFF\x00\x00\x00\x00WEBP", "WebP"),
        (b"RIFF\x00\x00\x00\x00WAVE", "WAV"),
        (b"GIF89a", "GIF"),
        (b"\xff\xfb\x90\x00", "MP3"),
        (b"ID3\x04\x00\x00\x00\x00\x00\x02xxID", "MP3"),
        (b"ID3\x04\x00\x00\x00\x00\x00\x02xxfLaC", "FLAC"),
        (b"\x00\x00\x00\x20ftypisom", "MP4 or MOV"),
        (b"\x00\x00\x00\x20ftypM4A ", "M4A"),
        (b"\x00\x00\x00\x08wide", "MP4 or MOV"),
        (b"\x1aE\xdf\xa3", "Matroska or WebM"),
        (b"%PDF-1.7", "PDF"),
    ],
)
def test_formats_are_told_by_their_first_bytes(head: bytes, name: str) -> None:
    found = sniff(head)
    assert found is not None
    assert found.name == name


def test_unknown_bytes_have_no_format() -> None:
    assert sniff(b"hello, world") is None
    assert sniff(b"\xff\xff\xff\xff") is None  # sync bits of MP3, but a reserved bit rate
    assert sniff(b"") is None


@pytest.mark.parametrize(
    ("head", "kind", "problem"),
    [
        (b"%PDF-1.7", "image", "is PDF, not an image we read; send PNG, JPEG, WebP or GIF"),
        (b"\x00\x00\x00\x20ftypisom", "image", "is MP4 or MOV.*goes under videos"),
        (b"RIFF\x00\x00\x00\x00WAVE", "video", "is WAV.*goes under audio"),
        (b"\x89PNG\r\n\x1a\n", "audio", "is PNG.*goes under images"),
        (b"II*\x00", "image", "TIFF is not read; send PNG"),
        (b"hello", "video", "is no video format we know; send MP4"),
        (b"#EXTM3U\nhttp://x", "video", "is playlist, not a video"),
    ],
)
def test_a_wrong_kind_says_what_it_is_and_where_it_goes(head: bytes, kind, problem: str) -> None:
    with pytest.raises(MediaError, match=problem):
        identify(head, kind, "x")


def test_counts() -> None:
    budget = Budgets(images=2, videos=0)
    budget.check_counts(images=2, audio=8)
    with pytest.raises(MediaError, match="images: 3 items, the limit is 2; send fewer"):
        budget.check_counts(images=3)
    with pytest.raises(MediaError, match="videos: 1 items, the limit is 0"):
        budget.check_counts(videos=1)
