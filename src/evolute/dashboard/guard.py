"""Who may see the page: on loopback, requests to a local host name; elsewhere, requests with the token."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "evolute"
SAFETY = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """Asks for the token if there is one, else for a local host name, so that no other web page can reach the runs."""

    app: ASGIApp
    token: str | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(Request(scope))
        if refused is not None:
            await refused(scope, receive, send)
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in SAFETY.items())]
            await send(message)

        await self.app(scope, receive, safely)

    def _refused(self, request: Request) -> Response | None:
        if self.token is None:
            name = Headers(scope=request.scope).get("host", "").rsplit(":", 1)[0] if request.url.port else request.url.hostname
            return None if is_loopback(name or "") else PlainTextResponse("this page is only served to local host names", 403)
        given = request.query_params.get("token")
        if given is not None and _same(given, self.token):
            rest = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
            answer = RedirectResponse(f"{request.url.path}{'?' + urlencode(rest) if rest else ''}", 303)
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            return answer
        sent = request.cookies.get(COOKIE) or request.headers.get("authorization", "").removeprefix("Bearer ")
        return None if _same(sent, self.token) else PlainTextResponse("the token is missing or wrong: open …/?token=TOKEN", 401)


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())
