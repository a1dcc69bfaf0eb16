from __future__ import annotations

import numpy as np
import pytest
from tests.strategies.bayes.data import points

from evolute.strategies.bayes.kernels import BgPbtKernel, Pb2Kernel, eps_of, gaps_between, rate_of
from evolute.strategies.bayes.points import Points

KERNELS = {
    "PB2": Pb2Kernel((0, 0, 0)),
    "PB2, context apart": Pb2Kernel((0, 1, 1)),
    "PB2-Mix": Pb2Kernel((0, 0, 0), categories=2),
    "BG-PBT": BgPbtKernel((0, 1, 2)),
    "BG-PBT, mixed": BgPbtKernel((0, 1, 2), categories=2),
}


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


def drawn(kernel, seed):
    """Parameters drawn from the prior, inside the bounds."""
    rng = np.random.default_rng(seed)
    values = []
    for p in kernel.parameters:
        middle = np.log(p.likely) if p.log else p.likely
        value = middle + p.spread * rng.normal()
        values.append(np.clip(np.exp(value) if p.log else value, p.low, p.high))
    return np.array(values)


def rows_of(kernel, count=12, seed=0):
    return points(count, len(kernel.groups), kernel.categories, seed)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_by_parameters_equal_finite_differences(kernel, seed):
    gaps = gaps_between(kernel.groups, rows_of(kernel), rows_of(kernel, seed=1))
    values = drawn(kernel, seed)
    covariance, gradients = kernel.parameter_gradients(values, gaps)
    assert covariance == pytest.approx(kernel.matrix(values, gaps))
    assert len(gradients) == len(values) == len(kernel.parameters)
    for place, gradient in enumerate(gradients):
        step = np.zeros_like(values)
        step[place] = 1e-5 * max(values[place], 0.1)
        apart = kernel.matrix(values + step, gaps) - kernel.matrix(values - step, gaps)
        assert gradient == pytest.approx(apart / (2 * step[place]), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_by_squares_equal_finite_differences(kernel, seed):
    gaps = gaps_between(kernel.groups, rows_of(kernel), rows_of(kernel, seed=1))
    values = drawn(kernel, seed)
    covariance, by_squares = kernel.square_gradients(values, gaps)
    assert covariance == pytest.approx(kernel.matrix(values, gaps))
    for group, gradient in enumerate(by_squares):
        step = np.zeros_like(gaps.squares)
        step[group] = 1e-6
        up, down = (kernel.matrix(values, gaps._replace(squares=gaps.squares + sign * step)) for sign in (1, -1))
        assert gradient == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_diagonal_is_the_diagonal(kernel, seed):
    rows = rows_of(kernel)
    values = drawn(kernel, seed)
    whole = kernel.matrix(values, gaps_between(kernel.groups, rows, rows))
    assert np.diag(whole) == pytest.approx(kernel.diagonal(values))
    assert whole == pytest.approx(whole.T)


@pytest.mark.parametrize("seed", range(5))
def test_the_covariance_is_positive_semidefinite_with_duplicate_rows(kernel, seed):
    once = rows_of(kernel, 8)
    rows = once.join(once).join(once)
    whole = kernel.matrix(drawn(kernel, seed), gaps_between(kernel.groups, rows, rows))
    assert np.linalg.eigvalsh(whole).min() > -1e-9


def test_correlation_fades_with_time_as_the_paper_says():
    rows = Points(np.full((3, 1), 0.5), np.zeros((3, 0), dtype=np.int64), np.array([0.0, 1.0, 10.0]))
    whole = Pb2Kernel((0,)).matrix(np.array([1.0, 1.0, rate_of(0.3)]), gaps_between((0,), rows, rows))
    assert whole[0] == pytest.approx([1.0, 0.7**0.5, 0.7**5])
    assert eps_of(rate_of(0.3)) == pytest.approx(0.3)


def test_without_fading_time_does_not_count():
    kernel = Pb2Kernel((0,), fades=False)
    rows = Points(np.full((2, 1), 0.5), np.zeros((2, 0), dtype=np.int64), np.array([0.0, 1000.0]))
    values = np.array([p.likely for p in kernel.parameters])
    assert kernel.matrix(values, gaps_between((0,), rows, rows)) == pytest.approx(np.ones((2, 2)))


def test_the_mixed_kernel_is_the_papers():
    rows = points(6, 3, 2)
    gaps = gaps_between((0, 0, 0), rows, rows)
    scale, length, rate_x, rate_c, mix = 1.3, 0.4, 0.05, 0.1, 0.3
    k_x = np.exp(-gaps.squares[0] / length - rate_x * gaps.time)
    k_c = gaps.overlap * np.exp(-rate_c * gaps.time)
    expected = scale * ((1 - mix) * (k_x + k_c) / 2 + mix * k_x * k_c)
    found = Pb2Kernel((0, 0, 0), 2).matrix(np.array([scale, length, rate_x, rate_c, mix]), gaps)
    assert found == pytest.approx(expected)


def test_more_equal_categories_mean_more_covariance():
    for kernel in (Pb2Kernel((0,), 2), BgPbtKernel((0,), 2)):
        rows = Points(np.full((3, 1), 0.5), np.array([[0, 0], [0, 1], [1, 1]]), np.zeros(3))
        values = np.array([p.likely for p in kernel.parameters])
        first = kernel.matrix(values, gaps_between((0,), rows, rows))[0]
        assert first[0] > first[1] > first[2]
