"""The explorer as a web application: a page, its files, and one handler per address under ``/ask``.

The server listens on this machine only, but every page in a browser on this machine can send requests to the server. Therefore
the host name of a request is checked, because a foreign page may map its own name to our address. The origin is checked too.
Requests are limited in size, number and time. They are handled in threads. Each handler first estimates its cost and refuses
requests that are too expensive. Long loops end when the client has disconnected.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
import warnings
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from treelet import _core
from treelet.checks import wrong
from treelet.errors import TreeletError, TreeletWarning
from treelet.explorer.handlers import HANDLERS
from treelet.explorer.requests import Request, RequestError
from treelet.explorer.workspace import Workspace

_LOG = logging.getLogger("uvicorn.error")
_BODY = 256 * 1024  # bytes of a request
_BODY_SECONDS = 5.0  # time limit for the arrival of a request
_SHORT_SECONDS = 0.25  # work after which a request is a long one
_GLANCE = 0.05  # seconds between two checks that the client is still connected
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def application(workspace: Workspace, port: int) -> Starlette:
    """Return the web application of a workspace.

    Parameters
    ----------
    workspace : Workspace
        The model, trees and grammar that requests are about.
    port : int
        Port on 127.0.0.1. Requests to any other address are refused.
    """
    kinds = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
    known: dict[str, tuple[bytes, str]] = {}  # the served files by name; no other path is ever opened
    for package, folder in (("treelet.explorer", "static"), ("treelet.drawing", "web")):
        for item in files(package).joinpath(folder).iterdir():
            if kind := kinds.get(f".{item.name.rpartition('.')[2]}"):
                known[item.name] = item.read_bytes(), kind
    workers = _Workers()

    async def file(http: HttpRequest) -> Response:
        name = http.path_params.get("name", "index.html")
        if name not in known:
            return _refusal(404, "This server has no such file.")
        content, kind = known[name]
        return Response(content, media_type=kind)

    async def ask(http: HttpRequest) -> Response:
        async def check() -> None:
            if http.app.state.stopping():
                raise HTTPException(503, "The server is stopping.")
            if await http.is_disconnected():
                raise HTTPException(499, "The client has disconnected.")

        handle = HANDLERS.get(http.path_params["what"])
        if handle is None:
            return _refusal(404, "This server has no such address under /ask.")
        try:
            request = Request.parse(await _body_of(http))
            return await workers.do(lambda: JSONResponse(handle(workspace, request)), check)
        except HTTPException as error:
            return _refusal(error.status_code, error.detail)
        except TreeletError as error:
            # This is a normal response: brackets are rarely complete while they are being typed.
            fields: dict[str, Any] = {"message": " ".join(str(error).split())}
            if isinstance(error, RequestError):
                fields |= {"field": error.field, "line": error.line, "column": error.column}
            return JSONResponse({"error": fields})
        except Exception as error:
            _LOG.exception("A request failed.")
            return _refusal(500, f"Internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}")

    app = Starlette(
        routes=[
            Route("/", file, methods=["GET"]),
            Route("/static/{name}", file, methods=["GET"]),
            Route("/ask/{what}", ask, methods=["POST"]),
        ],
        middleware=[Middleware(_Guard, port=port)],
    )
    app.state.stopping = lambda: False
    return app


def _refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message}}, status)


class _Guard:
    """Accepts requests of the explorer's own page only, and adds security headers to every response."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # web sockets are not supported

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        problem = self._problem(Headers(scope=scope), scope["method"])
        if problem is None:
            await self.app(scope, receive, with_headers)
        else:
            await _refusal(403, problem)(scope, receive, with_headers)

    def _problem(self, headers: Headers, method: str) -> str | None:
        if not headers.getlist("host") or not self.hosts.issuperset(headers.getlist("host")):
            return "This server accepts requests to 127.0.0.1 and localhost only."
        if not self.origins.issuperset(headers.getlist("origin")):
            return "This server accepts requests from its own page only."
        if method == "POST" and not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
            return "This server accepts requests from its own page only."
        return None


async def _body_of(request: HttpRequest) -> bytes:
    """Return the body of a request. Raise an error if it is too large or arrives too slowly."""
    kinds = {kind.partition(";")[0].strip().lower() for kind in request.headers.getlist("content-type")}
    if kinds != {"application/json"}:
        raise HTTPException(415, "The content type of a request must be application/json.")
    length = request.headers.get("content-length", "0")
    too_large = f"The request is larger than {_BODY // 1024} KiB. Enter smaller trees, or use the command line."
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            if not length.isdecimal() or int(length) > _BODY:
                raise HTTPException(413, too_large)
            async for chunk in request.stream():
                body += chunk
                if len(body) > _BODY:
                    raise HTTPException(413, too_large)
    except TimeoutError:
        raise HTTPException(408, f"The request did not arrive within {_BODY_SECONDS:g} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(499, "The client has disconnected.") from None
    return bytes(body)


class _Workers:
    """A few threads that handle requests, each within a time limit. Requests that take long give way to others.

    Every request starts as a short one. After _SHORT_SECONDS, it becomes a long one. If there are as many long ones already,
    its work is stopped, and starts again when there is room.
    """

    def __init__(self, at_once: int = 2, most: int = 64, seconds: float = 20.0) -> None:
        self._threads = ThreadPoolExecutor(2 * at_once, "treelet-explorer")
        self._short, self._long = asyncio.Semaphore(at_once), asyncio.Semaphore(at_once)
        self._room, self._seconds = most, seconds

    async def do(self, work: Callable[[], Response], check: Callable[[], Awaitable[None]]) -> Response:
        """Return the result of `work`, which may be started twice. The work is abandoned when `check` raises an error."""
        if self._room <= 0:
            raise HTTPException(503, "Too many requests are waiting. Try again in a moment.")
        self._room -= 1
        task = asyncio.ensure_future(self._take_turn(work, check))
        try:
            async with asyncio.timeout(self._seconds):
                await check()
                while not (await asyncio.wait({task}, timeout=_GLANCE))[0]:
                    await check()
        except TimeoutError:
            fact = f"The request took more than {self._seconds:g} seconds"
            raise HTTPException(503, f"{fact}. Enter smaller trees, or use the command line.") from None
        finally:
            task.cancel()
            self._room += 1
        return task.result()

    async def _take_turn(self, work: Callable[[], Response], check: Callable[[], Awaitable[None]]) -> Response:
        slot: asyncio.Semaphore | None = None
        running: asyncio.Future[Response] | None = None
        stop = _core.Stop()
        try:
            await self._short.acquire()
            slot = self._short
            await check()  # the client may have disconnected meanwhile; then the work is not even begun
            running = self._start(work, stop)
            if (await asyncio.wait({running}, timeout=_SHORT_SECONDS))[0]:
                return running.result()
            if self._long.locked():
                stop.set()
                await asyncio.wait({running})
                if running.exception() is None:
                    return running.result()
                slot.release()
                slot = None
                await self._long.acquire()
                stop = _core.Stop()
                running = self._start(work, stop)
            else:
                await self._long.acquire()
                slot.release()
            slot = self._long
            await asyncio.wait({running})
            return running.result()
        finally:
            stop.set()
            if slot is not None and (running is None or running.done()):
                slot.release()
            elif slot is not None and running is not None:  # abandoned work keeps its place until its thread has ended
                running.add_done_callback(lambda _, slot=slot: slot.release())  # type: ignore[misc]

    def _start(self, work: Callable[[], Response], stop: _core.Stop) -> asyncio.Future[Response]:
        """Start the work in a thread. Its native loops end when `stop` is set."""

        def watched() -> Response:
            _core.watch(stop)
            return work()

        running = asyncio.get_running_loop().run_in_executor(self._threads, watched)
        running.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # errors of abandoned work are lost
        return running


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
    with _listen(port) as listening:
        server = _server(workspace, listening)
        warnings.filterwarnings("ignore", category=TreeletWarning)  # the page shows the same information
        ready(f"http://{_HOST}:{listening.getsockname()[1]}/")
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after it has stopped
            server.run(sockets=[listening])


def _server(workspace: Workspace, listening: socket.socket) -> uvicorn.Server:
    """Return a server for a listening socket. The server is not running yet."""
    app = application(workspace, listening.getsockname()[1])
    config = uvicorn.Config(
        app,
        http=_Connection,
        log_level="error",  # a foreign page could fill the terminal with lines about bad requests
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
        timeout_keep_alive=int(_SECONDS),
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    app.state.stopping = lambda: server.should_exit  # requests in progress are then abandoned
    return server


def _listen(port: int | None = None) -> socket.socket:
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
