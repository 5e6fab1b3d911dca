"""The end of one process ends the others, which say whose it was.

A message of `torch.distributed` to a process that was killed fails without its number, or never
ends. So every process keeps a connection to the first one, which the operating system closes when a
process ends, however it ends. The first process tells the others.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aleator.exceptions import ProcessError

# A process that still trains so long after the news waits for a message that will never arrive.
_SECONDS_TO_END = 15.0
# All processes are there and only have to connect, or one is known to have ended.
_SECONDS_TO_CONNECT = 20.0
# With NCCL, a process may also be busy with something else before it begins the fit.
_SECONDS_TO_COME = 60.0
# A machine that vanishes closes no connection: after this many seconds of silence, and as many
# questions without an answer, the operating system does.
_SILENCE, _QUESTIONS = 5, 3

_KILLED = "it was killed, or its machine failed"


class Watch:
    """Connections of one fit to all other processes.

    Parameters
    ----------
    rank : int
        Number of this process.
    size : int
        Number of processes.
    send : callable
        Function that returns the bytes that the first process passes to it, in all processes.
    meet : callable
        Function that returns in the first process when all have called it, however long that takes,
        and raises RuntimeError if one has ended. False if it cannot know.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        send: Callable[[bytes | None], bytes],
        meet: Callable[[], bool],
    ) -> None:
        self._rank = rank
        self._size = size
        self._news: str | None = None
        self._arrived = threading.Event()
        self._left = threading.Event()
        self._peers: dict[socket.socket, int] = {}
        address = _address()
        if rank == 0:
            server = socket.create_server((address if _is_local(address) else "", 0), backlog=size)
            token = secrets.token_hex(16)
            port = server.getsockname()[1]
            failure: RuntimeError | None = None
            with server:
                patience = _SECONDS_TO_CONNECT
                # An error does not say which process has ended; `_accept` does.
                try:
                    patience = _SECONDS_TO_CONNECT if meet() else _SECONDS_TO_COME
                except RuntimeError as error:
                    failure = error
                try:
                    send(json.dumps([address, port, token]).encode())
                except RuntimeError as error:
                    failure = error
                self._accept(server, token, patience, failure)
        else:
            try:
                meet()
                address, port, token = json.loads(send(None))
                connection = socket.create_connection((address, port), _SECONDS_TO_CONNECT)
                _tell(connection, {"token": token, "rank": rank})
            except (OSError, RuntimeError) as error:
                raise ProcessError(
                    f"process 0 of {size} cannot be reached ({_KILLED}), so that training ends"
                ) from error
            self._peers[connection] = 0
        for connection in self._peers:
            connection.settimeout(None)
            _keep_alive(connection)
        self._thread = threading.Thread(target=self._listen, daemon=True, name="aleator-watch")
        self._thread.start()

    def raise_news(self, wait: float = 0.0) -> None:
        """Raise ProcessError if another process has ended, or does so in the next seconds."""
        if self._arrived.wait(wait) and self._news is not None:
            raise ProcessError(self._news)

    def leave(self, error: BaseException | None) -> None:
        """Tell the others that the fit has ended here, and how."""
        self._left.set()
        message: dict[str, Any] = {"ended": self._rank}
        if error is not None and self._news is None:
            message["why"] = f"{type(error).__name__}: {error}"
        elif error is not None:
            message["why"] = self._news
            message["about"] = "another"
        for connection in self._peers:
            with suppress(OSError):
                _tell(connection, message)
                # Without an error, the others end too, and say so; the thread ends with the last.
                connection.shutdown(socket.SHUT_WR if error is None else socket.SHUT_RDWR)
        self._thread.join(_SECONDS_TO_END)
        for connection in self._peers:
            connection.close()

    def _accept(
        self, server: socket.socket, token: str, patience: float, failure: RuntimeError | None
    ) -> None:
        """Wait until all processes have connected; anybody else is turned away."""
        end = time.monotonic() + patience
        while len(self._peers) < self._size - 1:
            try:
                server.settimeout(max(end - time.monotonic(), 0.001))
                connection, _ = server.accept()
            except TimeoutError:
                raise self._missing() from failure
            connection.settimeout(max(end - time.monotonic(), 0.001))
            hello = _hear(connection, bytearray())
            if hello and secrets.compare_digest(str(hello.get("token")), token):
                self._peers[connection] = int(hello["rank"])
            else:
                connection.close()
        if failure is not None:
            raise failure

    def _missing(self) -> ProcessError:
        """Return an error that names the processes that have not connected; tell the others."""
        missing = sorted(set(range(1, self._size)) - set(self._peers.values()))
        noun = "process" if len(missing) == 1 else "processes"
        news = (
            f"{noun} {', '.join(map(str, missing))} of {self._size} did not come "
            "(killed, ended, or on a machine that failed), so that training ends"
        )
        for connection in self._peers:
            with suppress(OSError):
                _tell(connection, {"ended": 0, "why": news, "about": "another"})
            connection.close()
        return ProcessError(news)

    def _listen(self) -> None:
        """Read from all connections until all are closed."""
        with selectors.DefaultSelector() as selector:
            for connection, rank in self._peers.items():
                selector.register(connection, selectors.EVENT_READ, (rank, bytearray()))
            while selector.get_map():
                for key, _ in selector.select():
                    rank, buffer = key.data
                    message = _hear(key.fileobj, buffer)  # type: ignore[arg-type]
                    if message is None or "ended" in message:
                        selector.unregister(key.fileobj)
                        self._note_end(rank, message)

    def _note_end(self, rank: int, message: dict[str, Any] | None) -> None:
        if message is not None and "why" not in message:
            return  # its fit has ended well
        why = _KILLED if message is None else message["why"]
        if message is not None and message.get("about") == "another":
            self._tell_all(str(why))
            return
        self._tell_all(f"process {rank} of {self._size} has ended ({why}), so that training ends")

    def _tell_all(self, news: str) -> None:
        if self._news is not None or self._left.is_set():
            return
        self._news = news
        self._arrived.set()
        # At once: whoever started the processes may kill this one before it can raise an error.
        print(f"aleator: {news}", file=sys.stderr, flush=True)
        if self._rank == 0:
            for connection in self._peers:
                with suppress(OSError):
                    _tell(connection, {"ended": 0, "why": news, "about": "another"})
        timer = threading.Timer(_SECONDS_TO_END, self._give_up)
        timer.daemon = True
        timer.start()

    def _give_up(self) -> None:
        if not self._left.is_set():
            print(f"aleator: process {self._rank} was waiting in vain", file=sys.stderr, flush=True)
            os._exit(1)


def _address() -> str:
    """Address of the first process for the others, as far as this process knows."""
    return os.environ.get("MASTER_ADDR") or socket.gethostbyname(socket.gethostname())


def _is_local(address: str) -> bool:
    return address == "localhost" or address.startswith("127.")


def _tell(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _hear(connection: socket.socket, buffer: bytearray) -> dict[str, Any] | None:
    """Read a message, a line of JSON; None if the connection has ended."""
    while b"\n" not in buffer:
        try:
            received = connection.recv(4096)
        except OSError:
            return None
        if not received or len(buffer) > 1 << 20:
            return None
        buffer += received
    line, _, rest = bytes(buffer).partition(b"\n")
    buffer[:] = rest
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", _SILENCE),
        ("TCP_KEEPINTVL", _SILENCE),
        ("TCP_KEEPCNT", _QUESTIONS),
    ):
        if hasattr(socket, option):  # not everywhere
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
