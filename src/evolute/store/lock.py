"""One process per run folder: a lock that the kernel lets go when its holder dies, and a card that says who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evolute.store.error import StoreError

FILE = "lock"
HEARTBEAT = 10.0
RETRIES = 5
_mine: dict[Path, dict[str, Any]] = {}


class HeldError(StoreError):
    """Another process holds the run."""


@contextlib.contextmanager
def held(folder: Path, *, take_over: bool = False) -> Iterator[dict[str, Any] | None]:
    """Hold the run while the block runs; yields the card of a dead process whose lock was taken over, if there was one.

    A dead holder on this host is recognised by the kernel. One on another host cannot be, so its lock is only taken
    over when asked to.
    """
    path = (folder / FILE).resolve()
    if path in _mine:
        raise HeldError(f"{folder} is held by this process already")
    with _opened(path) as fd:
        card = _card(path)
        if not _locked(fd):
            raise HeldError(
                f"{folder} is held by {describe(card, path)}; wait for it to end, stop it, or start another run with --new"
            )
        if card is not None and card["host"] != socket.gethostname() and not take_over:
            raise HeldError(
                f"{folder} is held by {describe(card, path)}; if that process is dead, take the run over with --take-over"
            )
        _mine[path] = _own_card()
        stop = threading.Event()
        try:
            _write(fd, _mine[path])
            threading.Thread(target=_beat, args=(path, stop), daemon=True).start()
            yield card
        finally:
            stop.set()
            _mine.pop(path)
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)


def holder(folder: Path) -> dict[str, Any] | None:
    """The card of the live process that holds a run, or None; asks without disturbing it."""
    path = (folder / FILE).resolve()
    if path in _mine:  # to open and close the file here would let this process's own lock go
        return _mine[path]
    card = _card(path)
    if card is None or card["host"] != socket.gethostname():
        return card
    try:
        with path.open("rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return card
    return None


def describe(card: dict[str, Any] | None, path: Path) -> str:
    """Who holds a lock, in words."""
    if card is None:
        return "another process"
    age = max(0.0, time.time() - path.stat().st_mtime)
    return f"process {card['pid']} on {card['host']} since {card['since']} (last sign of life {age:.0f} s ago)"


def _locked(fd: int) -> bool:
    """Whether the lock was to be had; a reader who asks holds it for an instant, so one refusal is not enough."""
    for _ in range(RETRIES):
        with contextlib.suppress(OSError):
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.02)
    return False


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"cannot write to {path.parent}: {error.strerror}") from error
    try:
        yield fd
    finally:
        os.close(fd)


def _own_card() -> dict[str, Any]:
    boot = Path("/proc/sys/kernel/random/boot_id")
    return {
        "host": socket.gethostname(),
        "boot": boot.read_text().strip() if boot.is_file() else None,
        "pid": os.getpid(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _card(path: Path) -> dict[str, Any] | None:
    try:
        card = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return card if isinstance(card, dict) and {"host", "pid", "since"} <= card.keys() else None


def _write(fd: int, card: dict[str, Any]) -> None:
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(card).encode(), 0)
    except OSError as error:
        raise StoreError(f"cannot write the lock of the run: {error.strerror}") from error


def _beat(path: Path, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT):
        with contextlib.suppress(OSError):
            os.utime(path)
