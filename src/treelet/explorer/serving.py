"""The explorer's server, from the first free port to Ctrl-C.

uvicorn waits without limit for the head of a request, and refuses new connections when all slots are taken: a few dozen silent
connections would lock everybody out. Here every connection has a time limit, and when there are too many, the one that has
waited longest is closed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from treelet.errors import ParameterError, TreeletError, TreeletWarning
from treelet.explorer.app import application
from treelet.explorer.workspace import Workspace

HOST = "127.0.0.1"  # this machine alone
PORT = 8377
TRIED = 20  # ports, where none is asked for
SECONDS = 5.0  # for the head of a request to arrive, and for a response to be taken
CONNECTIONS = 256  # at once


class Connection(H11Protocol):
    """One connection, from its first request to its last. h11 reads heads of at most 64 KiB."""

    seconds, most = SECONDS, CONNECTIONS
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most:
            waiting = (other for other in self.connections if isinstance(other, Connection) and other.is_waiting())
            min(waiting, key=lambda other: other._since).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_handling():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # and perhaps the next request, which has come already
        if not self._is_handling():
            self._wait()

    def is_waiting(self) -> bool:
        """Return whether the connection waits for its client: for a request, the rest of one, or a response to be taken."""
        return not self._is_handling() or self.cycle.more_body

    def drop(self) -> None:
        """Close the connection now, even if a response is not sent completely."""
        self._stop_waiting()
        self.connections.discard(self)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _is_handling(self) -> bool:
        """Return whether a request is being handled; requests have limits of their own."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.seconds, self.drop)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Server(uvicorn.Server):
    """Abandons the requests in progress when it stops."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.workers.close()  # type: ignore[union-attr]
        await super().shutdown(sockets)


def serve(workspace: Workspace, port: int | None = None, ready: Callable[[str], None] = lambda link: None) -> None:
    """Serve the explorer on 127.0.0.1 until it is interrupted.

    Parameters
    ----------
    workspace : Workspace
        The model, trees and grammar that requests are about.
    port : int, optional
        By default 8377, or the next one that is free.
    ready : callable
        Is told the link, when there is somebody to answer it.
    """
    with listen(port) as listening:
        server = server_of(workspace, listening)
        warnings.filterwarnings("ignore", category=TreeletWarning)  # the page says what there is to say
        ready(f"http://{HOST}:{listening.getsockname()[1]}/")
        with suppress(KeyboardInterrupt):  # it has stopped by then, and only passes the signal on
            server.run(sockets=[listening])


def server_of(workspace: Workspace, listening: socket.socket) -> Server:
    """Return the server of a socket; it is not running yet."""
    config = uvicorn.Config(
        application(workspace, listening.getsockname()[1]),
        http=Connection,
        log_level="error",  # what others send is not worth a line: a page elsewhere could fill the terminal
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        timeout_keep_alive=int(SECONDS),
        timeout_graceful_shutdown=2,
    )
    return Server(config)


def listen(port: int | None = None) -> socket.socket:
    """Return a socket that listens at a port, by default at the first free one."""
    if port is not None and not 0 <= port <= 65535:
        raise ParameterError(f"--port must be from 0 to 65535, got {port}")
    ports = range(PORT, PORT + TRIED) if port is None else [port]
    for number in ports:
        # The protocol is named, or asyncio would not switch off that small answers wait for company, 40 ms each.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere it would let two processes listen at one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
            listening.listen()
        except OSError as error:
            listening.close()
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
            raise TreeletError(f"port {number} cannot be listened at ({why}): choose another one with --port") from None
        return listening
    raise TreeletError(f"all ports from {PORT} to {ports[-1]} are in use: choose one with --port")
