"""The explorer as a web application: a page, its files, and one handler per address under ``/ask``."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from treelet.checks import wrong
from treelet.errors import TreeletError, TreeletWarning
from treelet.explorer.handlers import HANDLERS
from treelet.explorer.limits import Guard, RefusedError, WorkerPool, body_of, refusal
from treelet.explorer.requests import Request, RequestError
from treelet.explorer.workspace import Workspace

# --- the explorer as a web application --------------------------------------------------------------------------------

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOLDERS = ("treelet.explorer", "static"), ("treelet.drawing", "web")
_PAGE = "index.html"
_LOG = logging.getLogger("uvicorn.error")


def application(workspace: Workspace, port: int) -> Starlette:
    """Return the web application of a workspace.

    Parameters
    ----------
    workspace : Workspace
        The model, trees and grammar that requests are about.
    port : int
        Port on 127.0.0.1. Requests to any other address are refused.
    """
    known, workers = _page_files(), WorkerPool()

    async def file(http: HttpRequest) -> Response:
        name = http.path_params.get("name", _PAGE)
        if name not in known:
            return refusal(404, "This server has no such file.")
        content, kind = known[name]
        return Response(content, media_type=kind)

    async def ask(http: HttpRequest) -> Response:
        handle = HANDLERS.get(http.path_params["what"])
        if handle is None:
            return refusal(404, "This server has no such address under /ask.")
        try:
            body = await body_of(http)
            request = Request.parse(body)
            return await workers.do(lambda: JSONResponse(handle(workspace, request)), http.is_disconnected, len(body))
        except RefusedError as error:
            return refusal(error.status, str(error))
        except TreeletError as error:
            # This is a normal response: brackets are rarely complete while they are being typed.
            return JSONResponse({"error": _error_fields(error)})
        except Exception as error:
            _LOG.exception("A request failed.")
            return refusal(500, f"Internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}")

    app = Starlette(
        routes=[
            Route("/", file, methods=["GET"]),
            Route("/static/{name}", file, methods=["GET"]),
            Route("/ask/{what}", ask, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, port=port)],
    )
    app.state.workers = workers
    return app


def _error_fields(error: TreeletError) -> dict[str, Any]:
    """Return the message of an error on one line and, where known, the field and the position of the error."""
    fields: dict[str, Any] = {"message": " ".join(str(error).split())}
    if isinstance(error, RequestError):
        fields |= {"field": error.field, "line": error.line, "column": error.column}
    return fields


def _page_files() -> dict[str, tuple[bytes, str]]:
    """Return the content and media type of each served file, by name. No other path is ever opened."""
    served = {}
    for package, folder in _FOLDERS:
        for item in files(package).joinpath(folder).iterdir():
            kind = _KINDS.get(f".{item.name.rpartition('.')[2]}")
            if kind is not None:
                served[item.name] = item.read_bytes(), kind
    return served


# --- the server of the explorer: finding a free port, serving, and stopping on Ctrl-C ---------------------------------

_HOST = "127.0.0.1"  # reachable from this machine only
_PORT = 8377
_TRIED = 20  # number of ports that are tried by default
_SECONDS = 5.0  # time limit for the head of a request to arrive, and for a response to be received
_CONNECTIONS = 256  # open connections


class _Connection(H11Protocol):
    """A connection with a time limit. h11 reads request heads of at most 64 KiB."""

    seconds, most = _SECONDS, _CONNECTIONS
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most:
            waiting = (other for other in self.connections if isinstance(other, _Connection) and other.is_waiting())
            min(waiting, key=lambda other: other._since).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_handling():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # may start the next request, if it has arrived already
        if not self._is_handling():
            self._wait()

    def is_waiting(self) -> bool:
        """Return whether the connection waits for its client to send a request or to receive a response."""
        return not self._is_handling() or self.cycle.more_body

    def drop(self) -> None:
        """Close the connection now, even if a response has not been sent completely."""
        self._stop_waiting()
        self.connections.discard(self)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _is_handling(self) -> bool:
        """Return whether a request is being handled. Handling has a time limit of its own."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.seconds, self.drop)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Server(uvicorn.Server):
    """A server that abandons the requests in progress when it stops."""

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
        Port to listen on. Default: 8377, or the next free port.
    ready : callable
        Called with the link as soon as the server accepts connections.
    """
    with listen(port) as listening:
        server = server_of(workspace, listening)
        warnings.filterwarnings("ignore", category=TreeletWarning)  # the page shows the same information
        ready(f"http://{_HOST}:{listening.getsockname()[1]}/")
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after it has stopped
            server.run(sockets=[listening])


def server_of(workspace: Workspace, listening: socket.socket) -> _Server:
    """Return a server for a listening socket. The server is not running yet."""
    config = uvicorn.Config(
        application(workspace, listening.getsockname()[1]),
        http=_Connection,
        log_level="error",  # a foreign page could fill the terminal with lines about bad requests
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        timeout_keep_alive=int(_SECONDS),
        timeout_graceful_shutdown=2,
    )
    return _Server(config)


def listen(port: int | None = None) -> socket.socket:
    """Return a socket that listens on a port, by default on the first free one."""
    if port is not None and not 0 <= port <= 65535:
        raise wrong("port", "an int from 0 to 65535", port)
    ports = range(_PORT, _PORT + _TRIED) if port is None else [port]
    for number in ports:
        # With an explicit protocol, asyncio sets TCP_NODELAY. Otherwise each small response is delayed by 40 ms.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # On Windows, SO_REUSEADDR would let two processes listen on one port. The other option prevents this.
        if sys.platform == "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, number))
            listening.listen()
        except OSError as error:
            listening.close()
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
            raise TreeletError(f"Cannot listen on port {number}: {reason}. Choose another one with port=.") from None
        return listening
    raise TreeletError(f"All ports from {_PORT} to {ports[-1]} are in use. Choose another one with port=.")
