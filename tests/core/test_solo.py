"""Learners of one function or one class: what they are given, what they may do to it, and what they must return."""

from __future__ import annotations

import numpy as np
import pytest

from evolute.core.order import Order, Ref
from evolute.core.protocols import LostError
from evolute.core.solo import adapt, is_train
from evolute.core.tree import digest
from evolute.core.worker import Worker


class NoStates:
    """Durable states: none."""

    def write(self, ref, tree):
        raise LostError(str(ref))

    def read(self, ref):
        raise LostError(str(ref))


class Net:
    """A state that is no tree of arrays."""

    def __init__(self, weights, words):
        self.weights, self.words = weights, words


class Nets:
    """Trains nets, and saves them to several files, some in subfolders."""

    def train(self, state, hparams, steps, seed):
        net = Net(np.zeros(2), []) if state is None else state
        net.weights += hparams["lr"] * steps
        net.words.append(seed)
        return net, {"score": net.weights.sum()}

    def save(self, state, folder):
        (folder / "deep" / "er").mkdir(parents=True)
        np.save(folder / "deep" / "er" / "weights.npy", state.weights)
        (folder / "words.txt").write_text(" ".join(map(str, state.words)))
        (folder / "empty").touch()

    def load(self, folder):
        assert (folder / "empty").is_file()
        words = [int(word) for word in (folder / "words.txt").read_text().split()]
        return Net(np.load(folder / "deep" / "er" / "weights.npy"), words)


class Cheap(Nets):
    """As Nets, and says that it always repeats itself."""

    repeatable = True


def grow(state, hparams, steps, seed):
    """Changes everything it is given in place."""
    state = {"w": np.zeros(2), "log": [], "nested": {"n": 0}} if state is None else state
    state["w"] += hparams["lr"] * steps
    state["log"].append(seed)
    state["nested"]["n"] += 1
    return state, {"score": state["w"].sum()}


def watched(state, hparams, steps, seed, progress):
    for step in range(steps):
        progress((step + 1) / steps, f"step {step}")
    return state, {"score": 1.0}


def worker(learner, **options):
    return Worker(adapt(learner), NoStates(), **options)


def order(member=0, turn=0, *, start=None, steps=2, seed=5, **hparams):
    return Order(member, turn, hparams or {"lr": 0.5}, start=start, steps=steps, seed=seed)


def failure(code):
    """The reason that is reported when a turn of this function fails."""
    (report,) = worker(code).train([order()])
    assert report.failed
    assert report.digest is None
    return report.reason


@pytest.mark.parametrize(
    ("made", "train"),
    [
        (grow, True),
        (watched, True),
        (Nets().train, True),
        (lambda s, h, n, seed: (s, h), True),
        (lambda s, h, n, seed, scale=2.0: (s, h), True),
        (lambda s, h, n, key, progress: (s, h), True),
        (lambda state, hparams, steps, seed=0: (state, hparams), True),
        (lambda hparams, state, steps, seed: (state, hparams), False),
        (lambda s, h, n: (s, h), False),
        (lambda s, h, n, seed, more: (s, h), False),
        (lambda s, h, n, seed, *, more: (s, h), False),
        (Nets, False),
        (Nets(), False),
        (len, False),
        (print, False),
        (3, False),
    ],
)
def test_a_training_function_is_known_by_its_first_four_arguments(made, train):
    assert is_train(made) is train


def test_a_learner_is_left_as_it_is():
    learner = adapt(grow)
    assert adapt(learner) is learner


@pytest.mark.parametrize(
    ("made", "repeatable"), [(grow, True), (Nets, False), (Nets(), False), (Cheap, True), (Nets().train, True)]
)
def test_a_function_repeats_itself_and_a_class_does_if_it_says_so(made, repeatable):
    assert adapt(made).repeatable is repeatable


def test_repeatable_is_inherited_like_any_other_attribute():
    class Cheaper(Cheap):
        pass

    assert adapt(Cheaper).repeatable is True


def test_a_function_trains_on_from_the_state_it_returned():
    trainer = worker(grow)
    (first,) = trainer.train([order(seed=1)])
    (second,) = trainer.train([order(turn=1, start=Ref(0, 0), seed=2)])
    assert trainer.dump(Ref(0, 1))["log"] == [1, 2]
    assert (first.metrics["score"], second.metrics["score"]) == (2.0, 4.0)
    assert second.steps == 2
    assert second.digest == digest(trainer.dump(Ref(0, 1)))


def test_fresh_weights_are_asked_for_with_a_state_of_none():
    seen = []

    def train(state, hparams, steps, seed):
        seen.append((state, hparams, steps, seed))
        return {}, {"score": 0.0}

    worker(train, fixed={"layers": 2}).train([order(steps=7, seed=3, lr=0.1)])
    assert seen == [(None, {"layers": 2, "lr": 0.1}, 7, 3)]


def test_progress_is_passed_on_to_whoever_watches():
    seen = []
    trainer = worker(watched, progress=lambda refs, share, note: seen.append((refs, share, note)))
    (report,) = trainer.train([order(member=3)])
    assert not report.failed
    assert seen == [([Ref(3, 0)], 0.5, "step 0"), ([Ref(3, 0)], 1.0, "step 1")]


def test_a_class_may_take_progress_too():
    class Watched(Nets):
        def train(self, state, hparams, steps, seed, progress):
            progress(1.0, "done")
            return super().train(state, hparams, steps, seed)

    seen = []
    (report,) = worker(Watched, progress=lambda refs, share, note: seen.append(note)).train([order()])
    assert not report.failed, report.error
    assert seen == ["done"]


@pytest.mark.parametrize("made", [Nets, Nets()])
def test_a_class_saves_to_files_and_loads_from_them(made):
    trainer = worker(made)
    trainer.train([order(seed=1)])
    (report,) = trainer.train([order(turn=1, start=Ref(0, 0), seed=2)])
    assert report.metrics["score"] == 4.0
    tree = trainer.dump(Ref(0, 1))
    assert set(tree) == {"deep/er/weights.npy", "words.txt", "empty"}
    assert (tree["words.txt"], tree["empty"]) == (b"1 2", b"")
    state = trainer.learner.thaw(tree)
    assert (state.weights.tolist(), state.words) == ([2.0, 2.0], [1, 2])


def test_a_class_that_saves_nothing_is_told_so():
    class Forgetful(Nets):
        def save(self, state, folder):
            """Nothing."""

    (report,) = worker(Forgetful).train([order()])
    assert "Forgetful.save wrote no file" in report.reason


@pytest.mark.parametrize("learner", [grow, Nets])
def test_user_code_that_changes_a_state_in_place_never_changes_its_parents(learner):
    trainer = worker(learner)
    trainer.train([order(0, 0), order(1, 0)])
    parent = Ref(0, 0)
    before = digest(trainer.dump(parent))
    heirs = trainer.train([order(0, 1, start=parent), order(1, 1, start=parent, lr=0.9), order(2, 0, start=parent)])
    assert digest(trainer.dump(parent)) == before
    assert heirs[0].digest == heirs[2].digest != heirs[1].digest
    (again,) = trainer.train([order(0, 1, start=parent)])
    assert again.digest == heirs[0].digest


def test_user_code_that_keeps_its_state_and_changes_it_later_changes_no_finished_turn():
    kept = {"w": np.zeros(2)}

    def train(state, hparams, steps, seed):
        kept["w"] += 1
        return kept, {"score": 0.0}

    trainer = worker(train)
    (first,) = trainer.train([order()])
    trainer.train([order(member=1)])
    assert digest(trainer.dump(Ref(0, 0))) == first.digest


@pytest.mark.parametrize("change", [lambda hparams: hparams.pop("lr"), lambda hparams: hparams["widths"].append(1)])
def test_user_code_that_changes_its_hyper_parameters_changes_no_order(change):
    def train(state, hparams, steps, seed):
        change(hparams)
        return {}, {"score": 0.0}

    given = order(lr=0.5, widths=[64, 64])
    (report,) = worker(train).train([given])
    assert not report.failed, report.error
    assert report.order.hparams == given.hparams == {"lr": 0.5, "widths": [64, 64]}


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (1.0, "train returned a float: it must return the pair (state, metrics)"),
        (None, "train returned a NoneType: it must return the pair"),
        ({"score": 1.0}, "train returned a dict: it must return the pair"),
        (({}, {"score": 1.0}, {}), "train returned a tuple of 3: it must return the pair"),
        (({},), "train returned a tuple of 1"),
        (({}, 1.0), "the metrics are a float: give a dict of numbers"),
        (({}, None), "the metrics are a NoneType: give a dict"),
        (({}, [("score", 1.0)]), "the metrics are a list: give a dict"),
        (({}, {}), "have no 'score'"),
        (({}, {"loss": 1.0, 3: 2.0}), "have no 'score'"),
        (({}, {"loss": 1.0}), "['loss'] have no 'score', which is what members are compared by"),
        (({}, {"loss": 1.0}), "start a run with score=-loss to compare by that (the minus sign minimises it)"),
        (({}, {"length": 3.0, "reward": 1.0}), "start a run with score=reward to compare by that"),
        (({}, {"score": np.zeros(3)}), "the metric 'score' must be one number, and is of shape (3,)"),
        (({}, {"score": np.zeros(1)}), "the metric 'score' must be one number, and is of shape (1,)"),
        (({}, {"score": "high"}), "the metric 'score' must be one number, and is of str"),
        (({}, {"score": 1.0, "loss": [1]}), "the metric 'loss' must be one number, and is of list"),
        (({}, {"score": float("nan")}), "the score is nan"),
        (({}, {"score": float("-inf")}), "the score is -inf"),
        (({"x": object()}, {"score": 1.0}), "state['x'] is a builtins.object"),
        (({"x": {1, 2}}, {"score": 1.0}), "state['x'] is a builtins.set"),
    ],
    ids=lambda value: repr(value).partition(" object at")[0],
)
def test_a_wrong_return_is_reported_as_a_sentence_and_leaves_no_state(returned, said):
    assert said in failure(lambda state, hparams, steps, seed: returned)


def test_a_swapped_pair_is_an_error_too():
    assert "metrics" in failure(lambda state, hparams, steps, seed: ({"score": 1.0}, np.zeros(2)))


def test_an_exception_is_reported_with_its_traceback():
    def train(state, hparams, steps, seed):
        raise RuntimeError("out of luck")

    (report,) = worker(train).train([order()])
    assert report.reason == "RuntimeError: out of luck"
    assert "in train" in report.error


@pytest.mark.parametrize("score", [1, np.float32(1), np.array(1.0), True, None])
def test_a_score_may_be_any_single_number_or_none(score):
    (report,) = worker(lambda state, hparams, steps, seed: ({}, {"score": score})).train([order()])
    assert not report.failed, report.error
    value = report.metrics["score"]
    assert value == (None if score is None else 1.0)
    assert score is None or type(value) is float


def test_a_metric_other_than_the_score_may_be_nan():
    (report,) = worker(lambda state, hparams, steps, seed: ({}, {"score": 1.0, "loss": float("nan")})).train([order()])
    assert not report.failed


def test_a_minimised_metric_changes_its_sign_once():
    (report,) = worker(lambda state, hparams, steps, seed: ({}, {"loss": 2.0}), score="-loss").train([order()])
    assert report.metrics == {"loss": 2.0, "score": -2.0}


def test_one_function_has_no_policy_and_says_what_to_use():
    with pytest.raises(TypeError, match=r"run\.best\.state"):
        adapt(grow).policy({})


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "inside/../../outside"])
def test_a_checkpoint_cannot_write_outside_its_folder(name):
    made = worker(Nets())
    made.adopt(Ref(0, 0), {name: b"anything"})
    (report,) = made.train([order(turn=1, start=Ref(0, 0), lr=0.1)])
    assert "names a file outside its folder" in report.error


def test_results_without_opponents_are_refused_with_the_setting_that_is_missing():
    def train(state, hparams, steps, seed, opponents):
        return {}, {"results": [1.0 for _ in opponents]}

    (report,) = worker(train).train([order()])
    assert "there are no opponents: set opponents=history" in report.error


def test_a_function_or_class_may_name_its_architecture():
    class Shaped(Nets):
        architecture = ("width",)

    def train(state, hparams, steps, seed):
        return {}, {"score": 0.0}

    assert adapt(train).architecture == adapt(Nets).architecture == ()
    train.architecture = ["width"]
    assert adapt(train).architecture == adapt(Shaped).architecture == ("width",)
