"""Starts the dashboard: without a token on loopback, with one on any other address."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from pathlib import Path

from evolute.config.error import ConfigError
from evolute.store.error import StoreError


def serve(places: Sequence[Path], *, host: str, port: int, token: str | None) -> None:
    """Serve the runs in these folders until Ctrl-C."""
    try:
        import uvicorn

        from evolute.dashboard.app import application
        from evolute.dashboard.guard import is_loopback
    except ModuleNotFoundError as error:
        raise ConfigError(f"the dashboard needs {error.name}: pip install 'evolute[dashboard]'") from error
    from evolute.dashboard.shelf import Shelf

    if missing := [place for place in places if not place.is_dir()]:
        raise StoreError(f"there is no folder {missing[0]}; give runs, or folders of runs")
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    with _bound(host, port) as listening:
        shown = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
        print(f"dashboard: {shown}{f'?token={token}' if token else ''}  (Ctrl-C stops it)", flush=True)
        settings = uvicorn.Config(application(Shelf(places), token), log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(settings).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)  # early visitors wait until the server is up
    except OSError as error:
        raise StoreError(f"cannot listen on {host}:{port}: {error.strerror or error}; --port 0 takes a free port") from error
    return listening
