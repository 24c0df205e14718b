"""The explorer as a web application: a page, its files, and a question at each address under ``/ask``."""

from __future__ import annotations

import logging
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from treelet.errors import TreeletError
from treelet.explorer.handlers import ANSWERS
from treelet.explorer.limits import Crew, Guard, RefusedError, body_of, refusal
from treelet.explorer.requests import Question, QuestionError
from treelet.explorer.workspace import Desk

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FOLDERS = ("treelet.explorer", "static"), ("treelet.draw", "web")
PAGE = "index.html"
LOG = logging.getLogger("uvicorn.error")


def application(desk: Desk, port: int) -> Starlette:
    """The web application.

    Parameters
    ----------
    desk : Desk
        What can be asked about.
    port : int
        Where it listens, on 127.0.0.1: no other address is answered to.
    """
    known, crew = page_files(), Crew()

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", PAGE)
        if name not in known:
            return refusal(404, "there is no such file here")
        content, kind = known[name]
        return Response(content, media_type=kind)

    async def ask(request: Request) -> Response:
        answer = ANSWERS.get(request.path_params["what"])
        if answer is None:
            return refusal(404, "there is no such question here")
        try:
            question = Question.parse(await body_of(request))
            return await crew.do(lambda: JSONResponse(answer(desk, question)), request.is_disconnected)
        except RefusedError as error:
            return refusal(error.status, str(error))
        except TreeletError as error:
            return JSONResponse(
                {"error": told(error)}
            )  # an answer, too: brackets that are being typed are seldom whole
        except Exception as error:
            LOG.exception("a question could not be answered")
            return refusal(500, f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}")

    made = Starlette(
        routes=[
            Route("/", file, methods=["GET"]),
            Route("/static/{name}", file, methods=["GET"]),
            Route("/ask/{what}", ask, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, port=port)],
    )
    made.state.crew = crew
    return made


def told(error: TreeletError) -> dict[str, Any]:
    """What an error says, in one line, and of which field."""
    found: dict[str, Any] = {"message": " ".join(str(error).split())}
    if isinstance(error, QuestionError):
        found |= {"field": error.field, "line": error.line, "column": error.column}
    return found


def page_files() -> dict[str, tuple[bytes, str]]:
    """All files that are served, by name, each with its kind: no other path is ever opened."""
    found = {}
    for package, folder in FOLDERS:
        for item in files(package).joinpath(folder).iterdir():
            kind = KINDS.get(f".{item.name.rpartition('.')[2]}")
            if kind is not None:
                found[item.name] = item.read_bytes(), kind
    return found
