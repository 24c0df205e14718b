"""The explorer's server, from the first free port to Ctrl-C."""

from __future__ import annotations

import errno
import os
import socket
import warnings
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from treelet.errors import ParameterError, TreeletError, TreeletWarning
from treelet.explorer.app import application
from treelet.explorer.connections import SECONDS, Connection
from treelet.explorer.workspace import Workspace

HOST = "127.0.0.1"  # this machine alone
PORT = 8377
TRIED = 20  # ports, where none is asked for


class Server(uvicorn.Server):
    """Gives up what is worked on when it is to stop."""

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
    """What answers at a socket, before it is run."""
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
    """A socket that listens at a port, or at the first free one of some."""
    if port is not None and not 0 <= port <= 65535:
        raise ParameterError(f"--port must be from 0 to 65535, got {port}")
    ports = range(PORT, PORT + TRIED) if port is None else [port]
    for number in ports:
        # The protocol is named, or asyncio would not switch off that small answers wait for company, 40 ms each.
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere it would let two processes listen at one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((HOST, number))
            made.listen()
        except OSError as error:
            made.close()
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
            raise TreeletError(f"port {number} cannot be listened at ({why}): choose another one with --port") from None
        return made
    raise TreeletError(f"all ports from {PORT} to {ports[-1]} are in use: choose one with --port")
