"""Limits on requests: their origin, size, duration and number.

The server listens on this machine only, but every page in a browser on this machine can send requests to the server. Therefore
the host name of a request is checked, because a foreign page may map its own name to our address. The origin is checked too.
Requests are handled in threads. Each handler first estimates its cost and refuses requests that are too expensive. Long loops
end when the client has disconnected. Requests that take long give way to requests that do not.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treelet import _core
from treelet.errors import TreeletError

_BODY = 256 * 1024  # bytes of a request
_BODY_SECONDS = 5.0  # time limit for the arrival of a request
_ANSWER_SECONDS = 20.0  # time limit for waiting, and for the work
_AT_ONCE = 2  # short requests that are handled at the same time, and as many long ones
_SHORT_SECONDS = 0.25  # work after which a request is a long one
_WAITING = 64  # requests in the queue
_GLANCE = 0.05  # seconds between two checks that the client is still connected

Done = TypeVar("Done")

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RefusedError(TreeletError):
    """A request was refused with an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.status, str(self))


def refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message}}, status)


class Guard:
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
            await refusal(403, problem)(scope, receive, with_headers)

    def _problem(self, headers: Headers, method: str) -> str | None:
        if not headers.getlist("host") or not self.hosts.issuperset(headers.getlist("host")):
            return "This server accepts requests to 127.0.0.1 and localhost only."
        if not self.origins.issuperset(headers.getlist("origin")):
            return "This server accepts requests from its own page only."
        if method == "POST" and not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
            return "This server accepts requests from its own page only."
        return None


async def body_of(request: Request) -> bytes:
    """Return the body of a request. Raise RefusedError if it is too large or arrives too slowly."""
    kinds = {kind.partition(";")[0].strip().lower() for kind in request.headers.getlist("content-type")}
    if kinds != {"application/json"}:
        raise RefusedError(415, "The content type of a request must be application/json.")
    length = request.headers.get("content-length", "0")
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            if not length.isdecimal() or int(length) > _BODY:
                raise RefusedError(413, _too_large())
            async for chunk in request.stream():
                body += chunk
                if len(body) > _BODY:
                    raise RefusedError(413, _too_large())
    except TimeoutError:
        raise RefusedError(408, f"The request did not arrive within {_BODY_SECONDS:g} seconds.") from None
    except ClientDisconnect:
        raise _nobody() from None
    return bytes(body)


def _nobody() -> RefusedError:
    return RefusedError(499, "The client has disconnected.")


def _too_large() -> str:
    return f"The request is larger than {_BODY // 1024} KiB. Enter smaller trees, or use the command line."


class _Slots:
    """A number of slots. The smallest waiting request gets the next free one."""

    def __init__(self, free: int) -> None:
        self.free = free
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0

    def take(self, size: int) -> asyncio.Future[None]:
        """Return a future that is done when a slot is taken. A canceled future takes no slot."""
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (size, self._count, turn))
        self._count += 1
        self._distribute()
        return turn

    def give_back(self) -> None:
        self.free += 1
        self._distribute()

    def _distribute(self) -> None:
        while self.free and self._waiting:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.cancelled():
                self.free -= 1
                turn.set_result(None)


@dataclass
class _Run:
    """Work that a thread does, and the slots of which it has one."""

    done: asyncio.Future[Any]
    stop: _core.Stop
    slots: _Slots


class WorkerPool:
    """A few threads that handle requests, the smallest first. Requests of clients that have disconnected are abandoned.

    Short and long requests have slots of their own. Every request starts as a short one. After SHORT_SECONDS the request
    moves to a slot for long requests. If none is free, the work is stopped, and starts again when there is one.
    """

    def __init__(self, at_once: int = _AT_ONCE, waiting: int = _WAITING, seconds: float = _ANSWER_SECONDS) -> None:
        self._threads = ThreadPoolExecutor(2 * at_once, "treelet-explorer")
        self._short, self._long = _Slots(at_once), _Slots(at_once)
        self._room, self._seconds = waiting, seconds
        self._closed = False

    def close(self) -> None:
        """Abandon all requests in progress or waiting."""
        self._closed = True

    async def do(self, work: Callable[[], Done], gone: Callable[[], Awaitable[bool]], size: int = 0) -> Done:
        """Return the result of `work`. The work is abandoned when `gone` reports that the client has disconnected.

        `size` is the number of bytes of the request. `work` may be started a second time.
        """
        run = await self._start(work, gone, size, self._short)
        try:
            if not await self._attended(run.done, gone, _SHORT_SECONDS):
                if self._long.free:
                    self._long.free -= 1
                    run.slots.give_back()
                    run.slots = self._long
                else:
                    run.stop.set()
                    if await self._attended(run.done, gone, self._seconds) and run.done.exception() is not None:
                        run = await self._start(work, gone, size, self._long)
            if not await self._attended(run.done, gone, self._seconds):
                raise RefusedError(
                    503,
                    f"The request took more than {self._seconds:g} seconds. Enter smaller trees, or use the command line.",
                )
        finally:
            run.stop.set()
        result: Done = run.done.result()
        return result

    async def _start(
        self, work: Callable[[], Any], gone: Callable[[], Awaitable[bool]], size: int, slots: _Slots
    ) -> _Run:
        """Wait for a slot and start the work."""
        if self._room <= 0:
            raise RefusedError(503, "Too many requests are waiting. Try again in a moment.")
        self._room -= 1
        turn = slots.take(size)
        try:
            if not await self._attended(turn, gone, self._seconds):
                raise RefusedError(503, "The server is busy with earlier requests. Try again in a moment.")
            await self._look(gone)  # the client may have disconnected meanwhile; then the work is not even begun
        except BaseException:
            if not turn.cancel():
                slots.give_back()
            raise
        finally:
            self._room += 1
        stop = _core.Stop()
        run = _Run(asyncio.get_running_loop().run_in_executor(self._threads, _watched, work, stop), stop, slots)
        run.done.add_done_callback(lambda done: self._finished(run))
        return run

    async def _attended(self, future: asyncio.Future[Any], gone: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        """Wait for a future until it is done or the time is over. Raise an error if the client has disconnected."""
        try:
            async with asyncio.timeout(seconds):
                await self._look(gone)
                while not (await asyncio.wait({future}, timeout=_GLANCE))[0]:
                    await self._look(gone)
        except TimeoutError:
            return future.done()
        return True

    async def _look(self, gone: Callable[[], Awaitable[bool]]) -> None:
        if self._closed:
            raise RefusedError(503, "The server is stopping.")
        if await gone():
            raise _nobody()

    def _finished(self, run: _Run) -> None:
        run.slots.give_back()
        if not run.done.cancelled():
            run.done.exception()  # marks the exception as retrieved: a waiting client has received it already


def _watched(work: Callable[[], Done], stop: _core.Stop) -> Done:
    """Run `work` in a thread. Its native loops end when `stop` is set."""
    _core.watch(stop)
    return work()
