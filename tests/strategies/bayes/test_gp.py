"""The Gaussian process against finite differences, and against scikit-learn's on kernels that both have."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from tests.strategies.bayes.data import points, smooth

from evolute.strategies.bayes import gp as module
from evolute.strategies.bayes.gp import NOISE, best_values, conditioned, fitted, log_likelihood, natural
from evolute.strategies.bayes.kernels import BgPbtKernel, Pb2Kernel, gaps_between
from evolute.strategies.bayes.points import Points

KERNELS = [
    Pb2Kernel((0, 0, 0)),
    Pb2Kernel((0, 1, 1), categories=2),
    BgPbtKernel((0, 1, 2)),
    BgPbtKernel((0, 1, 2), categories=2),
]
STILL = 1e-12
"""A rate at which nothing fades, so that kernels without time are comparable."""


def timeless(rows):
    return Points(rows.numbers, rows.categories, np.zeros(len(rows)))


def theta_of(kernel, seed=0):
    rng = np.random.default_rng(seed)
    likely = [np.log(p.likely) if p.log else p.likely for p in (*kernel.parameters, NOISE)]
    return np.array(likely) + rng.normal(0, 0.2, len(likely))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_likelihood_equals_finite_differences(kernel, seed):
    rows = points(30, 3, kernel.categories, seed)
    parameters, gaps = (*kernel.parameters, NOISE), gaps_between(kernel.groups, rows, rows)
    targets, theta = smooth(rows, seed), theta_of(kernel, seed)
    _, gradient = log_likelihood(parameters, kernel, gaps, targets, theta)
    for place in range(len(theta)):
        step = np.zeros_like(theta)
        step[place] = 1e-5
        up, down = (log_likelihood(parameters, kernel, gaps, targets, theta + sign * step)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_gradients_of_mean_and_deviation_equal_finite_differences(kernel):
    rows = points(30, 3, kernel.categories)
    gp = conditioned(kernel, natural((*kernel.parameters, NOISE), theta_of(kernel)), rows, smooth(rows))
    at = points(5, 3, kernel.categories, seed=9)
    mean, deviation, by_mean, by_deviation = gp.gradients(at)
    assert gp.posterior(at)[0] == pytest.approx(mean)
    assert gp.posterior(at)[1] == pytest.approx(deviation)
    for number in range(3):
        step = np.zeros_like(at.numbers)
        step[:, number] = 1e-5
        up, down = (gp.posterior(Points(at.numbers + sign * step, at.categories, at.time)) for sign in (1, -1))
        assert by_mean[:, number] == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-5, abs=1e-5)
        assert by_deviation[:, number] == pytest.approx((up[1] - down[1]) / 2e-5, rel=1e-5, abs=1e-5)


def oracle(kind, values):
    """The same covariance in scikit-learn: exp(-d² / l) is its RBF of length sqrt(l / 2)."""
    if kind is Pb2Kernel:
        scale, length, _, noise = values
        smooth_part = RBF(np.sqrt(length / 2), (np.sqrt(0.005 / 2), np.sqrt(20 / 2)))
    else:
        scale, *lengths, _, noise = values
        smooth_part = Matern(lengths, (0.01, np.sqrt(3)), nu=2.5)
    low, high = (0.05, 10) if kind is Pb2Kernel else (0.5, 5)
    return ConstantKernel(scale, (low, high)) * smooth_part + WhiteKernel(noise, (NOISE.low, NOISE.high))


@pytest.mark.parametrize("kernel", [Pb2Kernel((0, 0, 0)), BgPbtKernel((0, 1, 2))], ids=str)
def test_likelihood_and_posterior_are_those_of_scikit_learn(kernel):
    rows = timeless(points(60, 3))
    targets, at = smooth(rows), timeless(points(20, 3, seed=5))
    values = np.array([0.8, *([0.3] if isinstance(kernel, Pb2Kernel) else [0.4, 0.7, 0.9]), STILL, 0.05])
    peer = GaussianProcessRegressor(oracle(type(kernel), values), optimizer=None, alpha=0.0).fit(rows.numbers, targets)
    parameters = (*kernel.parameters, NOISE)
    ours, _ = log_likelihood(parameters, kernel, gaps_between(kernel.groups, rows, rows), targets, np.log(values))
    assert ours == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    mean, deviation = conditioned(kernel, values, rows, targets).posterior(at)
    expected_mean, expected_deviation = peer.predict(at.numbers, return_std=True)
    assert mean == pytest.approx(expected_mean, abs=1e-6)
    assert deviation**2 + 0.05 == pytest.approx(expected_deviation**2, abs=1e-6)


@pytest.mark.filterwarnings("ignore:The optimal value found")
@pytest.mark.parametrize("kernel", [Pb2Kernel((0, 0, 0)), BgPbtKernel((0, 1, 2))], ids=str)
def test_a_fit_without_priors_reaches_the_likelihood_that_scikit_learn_reaches(kernel, monkeypatch):
    monkeypatch.setattr(module, "EVALUATIONS", 500)
    rows = timeless(points(60, 3))
    targets = smooth(rows, noise=0.3)
    flat = tuple(p._replace(spread=1e6) if p.name != "rate" else p._replace(spread=1e6, low=STILL) for p in kernel.parameters)
    values = best_values((*flat, NOISE._replace(spread=1e6)), kernel, rows, targets)
    gaps = gaps_between(kernel.groups, rows, rows)
    reached, _ = log_likelihood((*kernel.parameters, NOISE), kernel, gaps, targets, np.log(values))
    start = [1.0, *([0.3] if isinstance(kernel, Pb2Kernel) else [0.5] * 3), STILL, 0.3]
    peer = GaussianProcessRegressor(oracle(type(kernel), start), n_restarts_optimizer=2, random_state=0, alpha=0.0)
    peer.fit(rows.numbers, targets)
    assert reached == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-3)


def test_a_fit_finds_the_parameters_that_made_the_data():
    rng = np.random.default_rng(0)
    rows = points(250, 2, times=60)
    kernel = Pb2Kernel((0, 0))
    truth = np.array([1.0, 0.1, 0.05, 0.1])
    covariance = kernel.matrix(truth[:-1], gaps_between((0, 0), rows, rows)) + truth[-1] * np.eye(250)
    targets = np.linalg.cholesky(covariance) @ rng.normal(size=250)
    found = fitted(kernel, rows, targets).values
    assert np.log(found / truth) == pytest.approx(0, abs=0.7)


def test_a_pending_point_lowers_the_uncertainty_around_it_and_leaves_the_mean():
    rows = points(20, 2, 1)
    gp = fitted(Pb2Kernel((0, 0), 1), rows, smooth(rows))
    here = Points(np.array([[0.9, 0.1]]), np.array([[1]]), np.array([11.0]))
    near = Points(np.array([[0.85, 0.15]]), np.array([[1]]), np.array([11.0]))
    after = gp.with_pending(here)
    for place in (here, near):
        assert after.posterior(place)[1] < 0.98 * gp.posterior(place)[1]
        assert after.posterior(place)[0] == pytest.approx(gp.posterior(place)[0], abs=1e-9)
    assert gp.with_pending(rows.take(slice(0))) is gp
    whole = conditioned(gp.kernel, gp.values, rows.join(here), np.append(gp.targets, gp.posterior(here)[0]))
    for found, expected in zip(after.posterior(near), whole.posterior(near), strict=True):
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 40])
def test_one_row_duplicates_and_constant_gains_have_finite_posteriors(kernel, rows):
    one = points(1, 3, kernel.categories)
    same = one.take(np.zeros(rows, dtype=int))
    for targets in (np.zeros(rows), np.linspace(-2, 2, rows)):
        gp = fitted(kernel, same, targets)
        mean, deviation = gp.posterior(points(10, 3, kernel.categories, seed=3))
        assert np.isfinite(mean).all()
        assert (deviation > 0).all()
        assert np.isfinite(gp.with_pending(same).posterior(one)[1]).all()


def test_the_same_rows_give_the_same_bits():
    rows = points(50, 3, 2)
    first, again = (fitted(BgPbtKernel((0, 1, 2), 2), rows, smooth(rows)) for _ in range(2))
    assert first.values.tobytes() == again.values.tobytes()
    assert first.whitened.tobytes() == again.whitened.tobytes()
