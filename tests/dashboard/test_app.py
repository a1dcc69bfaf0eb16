"""The dashboard's answers over HTTP: who may ask, for what, and the sentences for what is wrong."""

from __future__ import annotations

import contextlib
import io
import os
import time

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient
from tests.report import synthetic

import evolute
from evolute.cli.report import report as write_report
from evolute.core.request import Answer
from evolute.dashboard.app import application
from evolute.dashboard.guard import is_loopback
from evolute.dashboard.shelf import Shelf
from evolute.store.journal import Journal
from evolute.store.lock import held
from evolute.store.meta import RunMeta


@pytest.fixture
def place(tmp_path):
    synthetic.synthetic(tmp_path / "runs" / "one", members=4, turns=5)
    synthetic.synthetic(tmp_path / "runs" / "other", members=4, turns=6, strategy="other")
    return tmp_path / "runs"


@pytest.fixture
def client(place):
    return TestClient(application(Shelf([place])), base_url="http://127.0.0.1:8188")


def patient(client, path):
    for _ in range(100):
        answer = client.get(path)
        if answer.status_code != 202:
            return answer
        time.sleep(0.1)
    raise AssertionError("never read")


def test_runs_are_listed_and_shown(client):
    assert {row["id"]: row["turns"] for row in client.get("/api/runs").json()} == {"one": 20, "other": 24}
    shown = patient(client, "/api/run/one").json()
    assert shown["name"] == "one"
    assert len(shown["members"]) == 4
    assert client.get("/").status_code == 200
    assert "unsafe" not in client.get("/").headers["content-security-policy"]


def test_the_same_name_in_two_folders_is_two_runs(place, tmp_path):
    synthetic.synthetic(tmp_path / "more" / "one", members=2, turns=1)
    shelf = Shelf([place, tmp_path / "more"])
    assert set(shelf.runs()) == {"one", "other", "one~2"}


def test_a_run_that_changed_is_read_again(place):
    shelf = Shelf([place])
    first = shelf.shown("one", 60)
    assert shelf.shown("one", 60) is first
    os.utime(place / "one" / "journal.sqlite")
    again = shelf.shown("one", 60)
    deadline = time.monotonic() + 30
    while again.get("stale"):
        assert again["members"] == first["members"]
        assert time.monotonic() < deadline
        time.sleep(0.05)
        again = shelf.shown("one", 60)
    assert again is not first


@pytest.mark.parametrize(
    "path",
    [
        "/api/run/..%2F..%2F..%2Fetc%2Fpasswd",
        "/api/run/..",
        "/static/..%2Fdraw.py",
        "/static/%2Fetc%2Fpasswd",
        "/download/..%2Fone/schedule.csv",
        "/download/one/..%2Fjournal.sqlite",
        "/download/one/journal.sqlite",
        "/api/run/absent",
    ],
)
def test_nothing_but_what_is_on_the_shelf_can_be_asked_for(client, path):
    assert client.get(path).status_code == 404


def test_another_host_name_is_refused_on_loopback(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 403
    for good in ("localhost:8188", "127.0.0.1:8188", "[::1]:8188", "localhost"):
        assert client.get("/", headers={"host": good}).status_code == 200


def test_with_a_token_nobody_enters_without_it(place):
    client = TestClient(application(Shelf([place]), "secret"), base_url="http://example.org", follow_redirects=False)
    assert client.get("/api/runs").status_code == 401
    assert client.get("/?token=wrong").status_code == 401
    assert client.get("/api/runs", headers={"authorization": "Bearer secret"}).status_code == 200
    entered = client.get("/?token=secret")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert client.get("/api/runs").status_code == 200


def test_addresses_that_only_this_machine_can_reach():
    assert all(map(is_loopback, ["127.0.0.1", "localhost", "::1", "127.8.8.8"]))
    assert not any(map(is_loopback, ["0.0.0.0", "192.168.1.1", "example.org", "", "::"]))


def test_a_corrupt_run_gives_a_sentence(place, client):
    (place / "bad").mkdir()
    (place / "bad" / "journal.sqlite").write_text("nonsense")
    answer = patient(client, "/api/run/bad")
    assert answer.status_code == 400
    assert "is not a journal of Evolute" in answer.json()["error"]
    assert next(row for row in client.get("/api/runs").json() if row["id"] == "bad")["status"] == "unreadable"


def test_runs_are_compared(client):
    found = client.get("/api/compare?run=one&run=other").json()
    assert {arm["name"] for arm in found["arms"]} == {"pbt", "other"}
    assert client.get("/api/compare?run=one").status_code == 400


def test_schedule_and_policy_are_downloaded(tmp_path):
    space = {"lr": evolute.Float(1e-4, 1e-2, log=True)}
    settings = {"population": 2, "interval": 256, "steps": 256, "display": "none", "ppo": {"envs": 2, "unroll": 32}}
    run = evolute.run("ppo", env="CartPole-v1", space=space, folder=tmp_path / "ppo", **settings)
    client = TestClient(application(Shelf([run.folder])), base_url="http://127.0.0.1")
    shown = patient(client, "/api/run/ppo").json()
    assert shown["env"] == "CartPole-v1"
    assert shown["downloads"] == ["schedule.yaml", "schedule.csv", "policy.npz"]
    policy = client.get("/download/ppo/policy.npz")
    assert policy.status_code == 200
    assert len(np.load(io.BytesIO(policy.content), allow_pickle=False).files)
    assert "lr" in client.get("/download/ppo/schedule.yaml").text


def test_a_policy_of_stable_baselines_is_downloaded_as_its_zip(tmp_path):
    sb3 = pytest.importorskip("stable_baselines3")
    space = {"learning_rate": evolute.Float(1e-4, 1e-2, log=True)}
    settings = {"population": 2, "interval": 64, "steps": 64, "display": "none", "sb3": {"n_steps": 32, "batch_size": 32}}
    run = evolute.run("sb3:PPO", env="CartPole-v1", space=space, folder=tmp_path / "sb3", **settings)
    client = TestClient(application(Shelf([run.folder])), base_url="http://127.0.0.1")
    assert patient(client, "/api/run/sb3").json()["downloads"] == ["schedule.yaml", "schedule.csv", "policy.zip"]
    assert client.get("/download/sb3/policy.npz").status_code == 404
    policy = client.get("/download/sb3/policy.zip")
    assert policy.status_code == 200
    model = sb3.PPO.load(io.BytesIO(policy.content))
    assert model.predict(np.zeros(4, np.float32), deterministic=True)[0] in (0, 1)


def test_no_policy_is_offered_by_a_learner_that_has_none(tmp_path):
    run = evolute.run(preset="toy", folder=tmp_path / "toy", display="none")
    client = TestClient(application(Shelf([run.folder])), base_url="http://127.0.0.1")
    assert patient(client, "/api/run/toy").json()["downloads"] == ["schedule.yaml", "schedule.csv"]
    answer = client.get("/download/toy/policy.npz")
    assert answer.status_code == 404
    assert answer.json()["error"] == "there is no policy.npz; there are schedule.yaml, schedule.csv"


@pytest.mark.parametrize(("learner", "suffix"), [("ppo", ".npz"), ("sb3", ".zip"), ("train", None)])
def test_runs_from_before_suffixes_were_recorded_offer_what_their_learner_exports(learner, suffix):
    old = {key: value for key, value in RunMeta(learner=learner).to_json().items() if key != "policy_suffix"}
    assert RunMeta.from_json(old).policy_suffix == suffix


def test_a_member_has_a_page_of_its_own(client):
    page = client.get("/api/run/one/member/2").json()
    assert (page["member"], page["plays"]) == (2, False)
    assert [chart["key"] for chart in page["charts"]][:2] == ["curve", "metric-loss"]
    assert client.get("/api/run/one/member/4").json() == {"error": "there is no member 4: one has members 0 to 3"}
    assert client.get("/api/run/none/member/0").status_code == 404
    assert client.get("/api/run/one/member/x").status_code == 404
    assert "there is no member-0.gif" in client.get("/download/one/member-0.gif").json()["error"]


def test_a_member_is_recorded_when_asked_for(tmp_path):
    small = {"envs": 2, "unroll": 16, "minibatches": 1, "widths": [4]}
    evolute.run("ppo", env="cartpole", population=2, interval=32, stop={"turns": 1}, ppo=small, evaluation={"members": 0},
                folder=tmp_path / "runs" / "run", display="none")  # fmt: skip
    client = TestClient(application(Shelf([tmp_path / "runs"])), base_url="http://127.0.0.1:8188")
    assert client.get("/api/run/run/member/1").json()["plays"]
    with Image.open(io.BytesIO(client.get("/download/run/member-1.gif").content)) as video:
        assert video.n_frames > 1
    assert "no member 7" in client.get("/download/run/member-7.gif").json()["error"]
    write_report(tmp_path / "runs" / "run", tmp_path / "run.html", video=True)
    assert "data:image/gif;base64,R0lGOD" in (tmp_path / "run.html").read_text()


def steering(place, token="secret"):
    return TestClient(
        application(Shelf([place]), token), base_url="http://127.0.0.1", headers={"authorization": "Bearer secret"}
    )


def test_only_a_dashboard_with_a_token_steers_and_only_by_json(place, client):
    asked = {"words": ["pin", "1"]}
    assert "a token" in client.post("/api/run/one/steer", json=asked).json()["error"]
    assert patient(client, "/api/run/one").json()["steerable"] is False
    stranger = TestClient(application(Shelf([place]), "secret"), base_url="http://127.0.0.1")
    assert stranger.post("/api/run/one/steer", json=asked).status_code == 401
    known = steering(place)
    assert known.post("/api/run/one/steer", content='{"words": ["pin", "1"]}').status_code == 415
    assert known.post("/api/run/one/steer", json=["pin"]).status_code == 400
    assert known.post("/api/run/absent/steer", json=asked).status_code == 404
    assert patient(known, "/api/run/one").json()["steerable"] is True
    assert not (place / "one" / "requests").exists()


def test_a_request_from_the_page_is_left_for_the_run_and_its_answer_told(place):
    known = steering(place)
    assert known.post("/api/run/one/steer", json={"words": ["pin", "9"]}).json()["error"].startswith("there is no member 9")
    assert known.post("/api/run/one/steer", json={"words": ["pin", "1"]}).json()["error"].startswith("nobody trains")
    with held(place / "one"):
        sent = known.post("/api/run/one/steer", json={"words": ["pin", "1"]}).json()
        assert sent["text"] == "pin member 1"
        assert known.get(f"/api/run/one/steer/{sent['request']}").json() == {"answer": None, "running": True}
    with contextlib.closing(Journal.write(place / "one")) as journal:
        number = len(journal.decisions())
        journal.decide(number, [], {}, [Answer(number, sent["request"], {"kind": "pin", "member": 1})])
    told = known.get(f"/api/run/one/steer/{sent['request']}").json()
    assert told["answer"] == f"taken by decision {number}: pin member 1"
