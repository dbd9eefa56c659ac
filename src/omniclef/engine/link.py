"""Messages between this process and a child: length, bytes, and open files that go along.

Knows sockets; must not know what messages mean. Decoded media travel as open memory files: the bytes are written once,
by the decoder, and read where the model is, whatever lies between. When the last holder ends, killed or not, the memory
is free again; there is no name that could stay behind.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Sequence

__all__ = ["Link", "memory_file", "receive", "seal", "send"]

HEADER = struct.Struct("<QH")
"""Bytes of the message and number of files."""

FILES = 128
"""Most files of one message; the kernel allows 253."""

CHUNK = 1 << 18


def send(sock: socket.socket, message: bytes, files: Sequence[int] = ()) -> None:
    """Blocks until all is sent. Raises ``OSError`` where nobody reads any more."""
    header = HEADER.pack(len(message), len(files))
    sent = socket.send_fds(sock, [header, message], files)
    if sent < len(header):
        raise ConnectionError("the header was cut")
    if sent < len(header) + len(message):  # whoever has read everything may have closed already
        sock.sendall(memoryview(message)[sent - len(header) :])


def receive(sock: socket.socket) -> tuple[bytearray, list[int]]:
    """Blocks for one message. Raises ``EOFError`` where none comes any more."""
    header = bytearray()
    files: list[int] = []
    while len(header) < HEADER.size:
        data, given, _, _ = socket.recv_fds(sock, HEADER.size - len(header), FILES)
        if not data:
            raise EOFError
        header += data
        files += given
    size, _ = HEADER.unpack(header)
    message = bytearray(size)
    view = memoryview(message)
    while view:
        count = sock.recv_into(view)
        if not count:
            raise EOFError
        view = view[count:]
    return message, files


class Link:
    """This process's end, on the event loop: messages arrive by callback, no thread between.

    Args:
        sock: non-blocking from here on, and owned by the link.
        heard: called with each message; files are not received on this side.
        ended: called once, when the other end is closed, however that came about.
    """

    def __init__(self, sock: socket.socket, heard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._heard = heard
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._in = bytearray()
        self._out: deque[tuple[memoryview, list[int]]] = deque()
        self._open = True
        self._loop.add_reader(sock.fileno(), self._readable)

    def send(self, message: bytes, files: Sequence[int] = ()) -> None:
        """Sends now what the socket takes, and the rest when it takes more. ``files`` may be closed afterwards."""
        if not self._open:
            return
        header = HEADER.pack(len(message), len(files))
        idle = not self._out
        self._out.append((memoryview(header + message), [os.dup(file) for file in files]))
        if idle:
            self._writable()
            if self._out and self._open:
                self._loop.add_writer(self._sock.fileno(), self._writable)

    def close(self) -> None:
        """Nothing is heard afterwards, not even the end."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._sock.fileno())
            self._loop.remove_writer(self._sock.fileno())
            for _, files in self._out:
                _close_all(files)
            self._out.clear()
            self._sock.close()

    def _writable(self) -> None:
        while self._out:
            data, files = self._out[0]
            try:
                sent = socket.send_fds(self._sock, [data], files) if files else self._sock.send(data)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self._end()
                return
            _close_all(files)
            if sent < len(data):
                self._out[0] = (data[sent:], [])
            else:
                self._out.popleft()
        self._loop.remove_writer(self._sock.fileno())

    def _readable(self) -> None:
        try:
            data = self._sock.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        self._in += data
        while self._open and len(self._in) >= HEADER.size:
            size, _ = HEADER.unpack_from(self._in)
            stop = HEADER.size + size
            if len(self._in) < stop:
                return
            message = bytes(memoryview(self._in)[HEADER.size : stop])
            del self._in[:stop]
            self._heard(message)

    def _end(self) -> None:
        if self._open:
            self.close()
            self._ended()


def memory_file() -> int:
    """An open file without a name, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("omniclef", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def seal(file: int) -> None:
    """Lets nobody change ``file`` any more: a reader that has it mapped would die of a file that shrinks."""
    if hasattr(os, "memfd_create"):
        import fcntl

        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)


def _close_all(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)
