"""Files of suites: found, fetched from a real local server, or asked for by name."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from omniclef.errors import InvalidInput
from omniclef.evaluation.sources import DataFolder, SourceFile, cache_folder
from omniclef.evaluation.suite import get_suite, suite_names

CONTENT = b"text,category\nhello,greeting\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    served = tmp_path / "served"
    served.mkdir()
    (served / "test.csv").write_bytes(CONTENT)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_is_fetched_once_and_then_found(tmp_path: Path, address: str) -> None:
    source = SourceFile("bench/x/test.csv", f"{address}/test.csv", DIGEST)
    path = DataFolder(tmp_path / "cache", download=True).file(source, "x", "somewhere")
    assert path.read_bytes() == CONTENT
    gone = SourceFile(source.path, f"{address}/gone.csv", DIGEST)
    assert DataFolder(tmp_path / "cache", download=True).file(gone, "x", "somewhere") == path


def test_another_content_leaves_nothing_behind(tmp_path: Path, address: str) -> None:
    source = SourceFile("bench/x/test.csv", f"{address}/test.csv", "0" * 64)
    with pytest.raises(InvalidInput, match=f"SHA-256 {DIGEST}, expected 0000"):
        DataFolder(tmp_path / "cache", download=True).file(source, "x", "somewhere")
    assert not list((tmp_path / "cache/bench/x").iterdir())


def test_a_page_that_is_not_there_says_where_to_put_the_file(tmp_path: Path, address: str) -> None:
    source = SourceFile("bench/x/test.csv", f"{address}/gone.csv", DIGEST)
    with pytest.raises(InvalidInput, match="cannot fetch") as caught:
        DataFolder(tmp_path / "cache", download=True).file(source, "x", "somewhere")
    assert str(tmp_path / "cache/bench/x/test.csv") in str(caught.value)
    assert not list((tmp_path / "cache/bench/x").iterdir())


def test_offline_says_which_file_to_put_where(tmp_path: Path, address: str) -> None:
    closed = f"http://127.0.0.1:{_free_port()}/test.csv"
    with pytest.raises(InvalidInput) as caught:
        DataFolder(tmp_path, download=True).file(
            SourceFile("bench/x/test.csv", closed, DIGEST), "x", "somewhere"
        )
    assert closed in str(caught.value)
    assert str(tmp_path / "bench/x/test.csv") in str(caught.value)


def test_a_named_folder_is_never_filled_from_the_network(tmp_path: Path, address: str) -> None:
    source = SourceFile("bench/x/test.csv", f"{address}/test.csv", DIGEST)
    with pytest.raises(InvalidInput, match=r"bench/x/test\.csv, which is not in .*; put it at .* somewhere"):
        DataFolder(tmp_path / "mine").file(source, "x", "somewhere")
    assert not (tmp_path / "mine").exists()


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNICLEF_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    assert DataFolder.cached() == DataFolder(tmp_path / "here/data", download=True)
    monkeypatch.delenv("OMNICLEF_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "omniclef"


def test_addresses_are_https_and_come_with_a_checksum() -> None:
    fetched = [f for name in suite_names() for f in get_suite(name).files.values() if f.url or f.sha256]
    assert len(fetched) >= 6
    for file in fetched:
        assert file.url is not None
        assert file.url.startswith("https://")
        assert file.sha256 is not None
        assert len(file.sha256) == 64


def _free_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        return int(server.server_port)
