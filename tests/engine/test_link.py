"""Messages and open files between two ends of a socket."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable

import pytest

from omniclef.engine.link import Link, memory_file, receive, seal, send


def test_messages_larger_than_the_socket_arrive_whole_and_in_order_with_their_files() -> None:
    async def scenario() -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
        ours, theirs = socket.socketpair()
        got: list[tuple[bytes, bytes]] = []

        def child() -> None:
            for _ in range(3):
                message, files = receive(theirs)
                contents = b""
                for file in files:
                    contents += os.pread(file, 100, 0)
                    os.close(file)
                got.append((bytes(message), contents))
                send(theirs, bytes(reversed(message)))
            theirs.close()

        heard: list[bytes] = []
        ended = asyncio.Event()
        thread = threading.Thread(target=child)
        thread.start()
        link = Link(ours, heard.append, ended.set)
        for number, size in enumerate((3, 5_000_000, 0)):
            file = memory_file()
            os.write(file, b"media %d" % number)
            link.send(bytes([number]) * size, [file] if number != 2 else [])
            os.close(file)
        await asyncio.wait_for(ended.wait(), 20)
        thread.join()
        return got, heard

    got, heard = asyncio.run(scenario())
    assert got == [(b"\0" * 3, b"media 0"), (b"\1" * 5_000_000, b"media 1"), (b"", b"")]
    assert heard == [b"\0" * 3, b"\1" * 5_000_000, b""]


def test_a_closed_link_holds_no_file(open_files: Callable[[], int]) -> None:
    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        link = Link(ours, lambda message: None, lambda: None)
        before = open_files()
        file = memory_file()
        for _ in range(3):
            link.send(b"x" * 1_000_000, [file])  # nobody reads
        os.close(file)
        link.close()
        theirs.close()
        assert open_files() == before - 2

    asyncio.run(scenario())


def test_a_sealed_file_cannot_be_changed_or_cut() -> None:
    file = memory_file()
    os.write(file, b"pixels")
    seal(file)
    for change in (lambda: os.write(file, b"other"), lambda: os.ftruncate(file, 0)):
        with pytest.raises(PermissionError):
            change()
    os.close(file)
