"""Worker processes reach one another on loopback, and only those who know the run's token."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import numpy as np
import pytest
from tests.engines.workers import children, noisy

import evolute
from evolute.engines.links import peers
from evolute.engines.links.peers import Peers, listen

TOKEN = b"the token of this run"


@pytest.fixture(scope="module")
def address():
    return listen(TOKEN, lambda method, argument: {"value": {"method": method, "twice": 2 * argument}})


def test_a_worker_answers_another_one(address):
    answer = Peers(TOKEN).ask(address, "double", np.arange(100_000))
    assert answer["method"] == "double"
    np.testing.assert_array_equal(answer["twice"], 2 * np.arange(100_000))


def test_it_listens_on_loopback(address):
    assert address.startswith("127.0.0.1:")


def test_who_does_not_know_the_token_is_refused(address):
    with pytest.raises(ConnectionError, match="cannot be reached"):
        Peers(b"another token").ask(address, "double", 1)
    assert Peers(TOKEN).ask(address, "double", 1)["twice"] == 2


def test_somebody_who_stays_silent_or_talks_nonsense_is_left_alone(address, monkeypatch):
    monkeypatch.setattr(peers, "PATIENCE", 1.0)
    host, port = address.split(":")
    with socket.create_connection((host, int(port))) as silent, socket.create_connection((host, int(port))) as loud:
        loud.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
        assert Peers(TOKEN).ask(address, "double", 4)["twice"] == 8
        silent.settimeout(5)
        started = time.monotonic()
        while silent.recv(1000):
            pass
        assert time.monotonic() - started < 4


def test_a_worker_that_is_gone_is_a_connection_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = "{}:{}".format(*server.getsockname())
    with pytest.raises(ConnectionError):
        Peers(TOKEN).ask(gone, "double", 1)


def test_an_intruder_gets_nothing_from_the_workers_of_a_run(tmp_path, monkeypatch):
    ours = set()

    def look(*_):
        deadline = time.monotonic() + 60
        while len(ours) < 2 and time.monotonic() < deadline:
            ours.update(_listening(children()))
        for host, port in ours:
            assert host == "127.0.0.1"
            with pytest.raises(AuthenticationError):
                Client((host, port), authkey=b"guess")

    monkeypatch.setattr("evolute.report.lines.Quiet.begin", look)
    settings = {"space": {"lr": [0.1, 0.5]}, "population": 2, "stop": {"turns": 2}, "engine": "processes", "workers": 2}
    evolute.run(noisy, runs=tmp_path, display="none", **settings)
    assert len(ours) == 2


def _listening(pids: list[int]) -> set[tuple[str, int]]:
    """The addresses on which sockets of these processes listen."""
    sockets = set()
    for pid in pids:
        for entry in (Path("/proc") / str(pid) / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                sockets.add(os.readlink(entry))
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, *_, inode = line.split()[:10]
        if state == "0A" and f"socket:[{inode}]" in sockets:
            address, port = local.split(":")
            found.add((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


@pytest.mark.slow("thousands of strangers come to a worker, and it still answers those who know the token")
def test_thousands_of_strangers_do_no_harm(address):
    rng, (host, port) = random.Random(0), address.split(":")
    before = threading.active_count()
    for _ in range(3_000):
        said = rng.randbytes(rng.randrange(1, 200))
        if rng.random() < 0.5:  # a frame of the right kind, of any length that was promised
            said = struct.pack("!i", rng.choice([len(said), -1, 2**31 - 1])) + said
        with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as line:
            line.sendall(said)
            line.shutdown(socket.SHUT_WR)
            while line.recv(4096):
                pass
    assert Peers(TOKEN).ask(address, "double", 4)["twice"] == 8
    while threading.active_count() > before + 1:  # one answers whoever has just asked
        time.sleep(0.01)
