"""The dashboard's pages and data, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from importlib import resources

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from evolute.config.error import ConfigError
from evolute.core.order import Json
from evolute.core.protocols import LostError
from evolute.dashboard.downloads import NoDownloadError, downloaded, plays
from evolute.dashboard.guard import Guard
from evolute.dashboard.shelf import Shelf
from evolute.store.error import StoreError
from evolute.store.lock import holder

PATIENCE = 0.4
"""Seconds after which a page is told that a run is still being read."""
PULSE = 1.0
"""Seconds between two checks for changes."""
ASSETS = {
    "charts.js": "text/javascript",
    "run.js": "text/javascript",
    "member.js": "text/javascript",
    "steer.js": "text/javascript",
    "dashboard.js": "text/javascript",
    "style.css": "text/css",
}
EXPECTED = (ConfigError, StoreError, LostError, ImportError)


def application(shelf: Shelf, token: str | None = None) -> Starlette:
    """The web application for the runs on a shelf."""
    views = Views(shelf, steerable=token is not None)
    routes = [
        Route("/", views.page),
        Route("/static/{name}", views.asset),
        Route("/api/runs", views.runs),
        Route("/api/run/{name}", views.run),
        Route("/api/run/{name}/member/{slot:int}", views.member),
        Route("/api/run/{name}/steer", views.steer, methods=["POST"]),
        Route("/api/run/{name}/steer/{request}", views.answer),
        Route("/api/compare", views.compare),
        Route("/api/events", views.events),
        Route("/download/{name}/{file}", views.download),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token)])


class Views:
    """The answer at each address."""

    def __init__(self, shelf: Shelf, *, steerable: bool = False) -> None:
        self.shelf, self.steerable = shelf, steerable

    async def page(self, request: Request) -> Response:
        return HTMLResponse(_asset("dashboard.html"))

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return _sentence(f"there is no {name}", 404)
        return Response(_asset(name), media_type=ASSETS[name])

    async def runs(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.shelf.listing))

    async def run(self, request: Request) -> Response:
        name = request.path_params["name"]
        shown = await _answered(lambda: self.shelf.shown(name, PATIENCE))
        if isinstance(shown, Response):
            return shown
        return JSONResponse({"reading": True}, 202) if shown is None else _json({**shown, "steerable": self.steerable})

    async def member(self, request: Request) -> Response:
        name, slot = request.path_params["name"], request.path_params["slot"]
        return _json(await _answered(lambda: self._member(name, slot)))

    async def steer(self, request: Request) -> Response:
        """Leaves a request for a run; only visitors with the token may, and no form of another page can."""
        if not self.steerable:
            return _sentence("only a dashboard with a token steers runs: evolute dashboard --token …", 403)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _sentence("send the words of the request as JSON", 415)
        try:
            words = [str(word) for word in (await request.json())["words"]]
        except (ValueError, KeyError, TypeError):
            return _sentence("send the words of the request as JSON", 400)
        return _json(await _answered(lambda: self._asked(request.path_params["name"], words)))

    async def answer(self, request: Request) -> Response:
        """What became of a request; null while it waits."""
        name, asked = request.path_params["name"], request.path_params["request"]
        return _json(await _answered(lambda: self._taken(name, asked)))

    async def compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        return _json(await _answered(lambda: self._compared(names)))

    async def events(self, request: Request) -> Response:
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def download(self, request: Request) -> Response:
        name, file = request.path_params["name"], request.path_params["file"]
        content = await _answered(lambda: downloaded(self.shelf.runs()[name], file))
        if isinstance(content, Response):
            return content
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in f"{name}-{file}")
        return Response(
            content,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{safe.encode("ascii", "replace").decode()}"'},
        )

    def _asked(self, name: str, words: list[str]) -> Json:
        from evolute.runs import steer

        folder = self.shelf.runs()[name]
        asked = steer.worded(folder, words)
        return {"request": steer.ask(folder, asked), "text": str(asked)}

    def _taken(self, name: str, asked: str) -> Json:
        from evolute.runs import steer

        folder = self.shelf.runs()[name]
        answer = steer.answered(folder, asked)
        if answer is None:
            return {"answer": None, "running": holder(folder) is not None}
        taken = f"taken by decision {answer.decision}: " if answer.refused is None else ""
        return {"answer": f"{taken}{answer}", "running": True}

    def _member(self, name: str, slot: int) -> Json:
        from evolute.report.data.member_page import member_page
        from evolute.runs.turns import TurnTable

        table = TurnTable.read(self.shelf.runs()[name])
        if slot >= table.size:
            raise ConfigError(f"there is no member {slot}: {name} has members 0 to {table.size - 1}")
        return {**member_page(table, slot), "plays": plays(table.meta)}

    def _compared(self, names: list[str]) -> Json:
        from evolute.report.data.compare import charts, comparison
        from evolute.report.figures.chart import to_json
        from evolute.runs.turns import TurnTable

        if len(names) < 2:
            raise ConfigError("choose at least two runs to compare")
        runs = self.shelf.runs()
        tables = [TurnTable.read(runs[name]) for name in names]
        return {**comparison(tables), "charts": [to_json(chart) for chart in charts(tables)]}

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        """Which runs have changed, at most once a pulse; a comment now and then keeps the line open."""
        before = await run_in_threadpool(self.shelf.stamps)
        yield ": hello\n\n"
        while not await request.is_disconnected():
            await asyncio.sleep(PULSE)
            now = await run_in_threadpool(self.shelf.stamps)
            changed = sorted(name for name in {*now, *before} if now.get(name) != before.get(name))
            before = now
            yield f"event: changed\ndata: {json.dumps(changed)}\n\n" if changed else ": still here\n\n"


async def _answered(find: Callable[[], Json]) -> Json:
    """What `find` gives, or a sentence that says why there is nothing."""
    try:
        return await run_in_threadpool(find)
    except KeyError as error:
        return _sentence(f"there is no run {error.args[0]!r} here", 404)
    except NoDownloadError as error:
        return _sentence(str(error), 404)
    except EXPECTED as error:
        return _sentence(str(error), 400)


def _json(answer: Json) -> Response:
    return answer if isinstance(answer, Response) else JSONResponse(answer)


def _sentence(text: str, status: int) -> Response:
    return JSONResponse({"error": text}, status)


def _asset(name: str) -> str:
    return (resources.files("evolute.report") / "web" / name).read_text(encoding="utf-8")
