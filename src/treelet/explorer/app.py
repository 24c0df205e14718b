"""The explorer as a web application: a page, its files, and one handler per address under ``/ask``."""

from __future__ import annotations

import logging
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from treelet.errors import TreeletError
from treelet.explorer.handlers import HANDLERS
from treelet.explorer.limits import Guard, RefusedError, WorkerPool, body_of, refusal
from treelet.explorer.requests import Request, RequestError
from treelet.explorer.workspace import Workspace

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FOLDERS = ("treelet.explorer", "static"), ("treelet.draw", "web")
PAGE = "index.html"
LOG = logging.getLogger("uvicorn.error")


def application(workspace: Workspace, port: int) -> Starlette:
    """Return the web application of a workspace.

    Parameters
    ----------
    workspace : Workspace
        The model, trees and grammar that requests are about.
    port : int
        Port on 127.0.0.1. Requests to any other address are refused.
    """
    known, workers = page_files(), WorkerPool()

    async def file(http: HttpRequest) -> Response:
        name = http.path_params.get("name", PAGE)
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
            return JSONResponse({"error": error_fields(error)})
        except Exception as error:
            LOG.exception("A request failed.")
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


def error_fields(error: TreeletError) -> dict[str, Any]:
    """Return the message of an error on one line and, where known, the field and the position of the error."""
    fields: dict[str, Any] = {"message": " ".join(str(error).split())}
    if isinstance(error, RequestError):
        fields |= {"field": error.field, "line": error.line, "column": error.column}
    return fields


def page_files() -> dict[str, tuple[bytes, str]]:
    """Return the content and media type of each served file, by name. No other path is ever opened."""
    served = {}
    for package, folder in FOLDERS:
        for item in files(package).joinpath(folder).iterdir():
            kind = KINDS.get(f".{item.name.rpartition('.')[2]}")
            if kind is not None:
                served[item.name] = item.read_bytes(), kind
    return served
