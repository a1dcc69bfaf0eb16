"""A Gaussian process with noise: fitted by its likelihood with analytic gradients, conditioned by Cholesky (scipy).

Weak priors over the parameters keep a fit to a handful of rows sane. Rows that are still pending count at the posterior
mean: they lower the uncertainty around them and leave the mean as it is.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.strategies.bayes.kernels import Gaps, Kernel, Parameter, gaps_between
from evolute.strategies.bayes.points import Array, Points

NEWEST = 250
"""Parameters are fitted to this many of the newest rows; all rows count in the posterior."""
NOISE = Parameter("noise", 1e-4, 5.0, 0.3, 1.0)
EVALUATIONS = 40


@dataclass(frozen=True)
class Gp:
    """A fitted process: `values` are the kernel's parameters and the noise variance, `whitened` is K⁻¹ targets."""

    kernel: Kernel
    values: Array
    points: Points
    targets: Array
    factor: Array
    whitened: Array

    def posterior(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation of the noise-free gain at each point."""
        from scipy.linalg import solve_triangular

        across = self.kernel.matrix(self.values[:-1], gaps_between(self.kernel.groups, points, self.points))
        half = solve_triangular(self.factor, across.T, lower=True, check_finite=False)
        variance = self.kernel.diagonal(self.values[:-1]) - np.sum(half**2, axis=0)
        return across @ self.whitened, np.sqrt(np.maximum(variance, 1e-12))

    def gradients(self, points: Points) -> tuple[Array, Array, Array, Array]:
        """Mean and standard deviation, and their gradients by the numbers: [point, number]."""
        from scipy.linalg import cho_solve

        groups = self.kernel.groups
        across, by_squares = self.kernel.square_gradients(self.values[:-1], gaps_between(groups, points, self.points))
        solved = cho_solve((self.factor, True), across.T, check_finite=False).T
        deviation = np.sqrt(np.maximum(self.kernel.diagonal(self.values[:-1]) - np.sum(across * solved, axis=1), 1e-12))
        by_mean, by_deviation = np.zeros_like(points.numbers), np.zeros_like(points.numbers)
        for number, group in enumerate(groups):
            moved = 2 * by_squares[group] * (points.numbers[:, None, number] - self.points.numbers[None, :, number])
            by_mean[:, number] = moved @ self.whitened
            by_deviation[:, number] = -np.sum(moved * solved, axis=1) / deviation
        return across @ self.whitened, deviation, by_mean, by_deviation

    def with_pending(self, pending: Points) -> Gp:
        """The process that counts pending rows as finished, with their gains as predicted."""
        from scipy.linalg import cho_solve, solve_triangular

        if not len(pending):
            return self
        across = self.kernel.matrix(self.values[:-1], gaps_between(self.kernel.groups, self.points, pending))
        half = solve_triangular(self.factor, across, lower=True, check_finite=False)
        among = self.kernel.matrix(self.values[:-1], gaps_between(self.kernel.groups, pending, pending))
        corner = _factor(among - half.T @ half, float(self.values[-1]))
        factor = np.block([[self.factor, np.zeros_like(across)], [half.T, corner]])
        targets = np.concatenate([self.targets, across.T @ self.whitened])
        whitened = cho_solve((factor, True), targets, check_finite=False)
        return Gp(self.kernel, self.values, self.points.join(pending), targets, factor, whitened)


def fitted(kernel: Kernel, points: Points, targets: Array, *, noise: Parameter = NOISE) -> Gp:
    """The process whose parameters explain these rows best; rows are in order of time."""
    newest = points.take(slice(-NEWEST, None))
    values = best_values((*kernel.parameters, noise), kernel, newest, targets[-NEWEST:])
    return conditioned(kernel, values, points, targets)


def conditioned(kernel: Kernel, values: Array, points: Points, targets: Array) -> Gp:
    """The process with given parameters that has seen these rows."""
    from scipy.linalg import cho_solve

    covariance = kernel.matrix(values[:-1], gaps_between(kernel.groups, points, points))
    factor = _factor(covariance, float(values[-1]))
    return Gp(kernel, values, points, targets, factor, cho_solve((factor, True), targets, check_finite=False))


def best_values(parameters: tuple[Parameter, ...], kernel: Kernel, points: Points, targets: Array) -> Array:
    """The parameters of greatest posterior density, climbed to from the likely ones."""
    from scipy.optimize import minimize

    gaps = gaps_between(kernel.groups, points, points)
    bounds = [(np.log(p.low), np.log(p.high)) if p.log else (p.low, p.high) for p in parameters]
    likely = np.array([np.log(p.likely) if p.log else p.likely for p in parameters])
    spread = np.array([p.spread for p in parameters])

    def loss(theta: Array) -> tuple[float, Array]:
        value, gradient = log_likelihood(parameters, kernel, gaps, targets, theta)
        off = (theta - likely) / spread
        return -value + 0.5 * float(off @ off), -gradient + off / spread

    optimum = minimize(loss, likely, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxfun": EVALUATIONS})
    return natural(parameters, optimum.x)


def log_likelihood(
    parameters: tuple[Parameter, ...], kernel: Kernel, gaps: Gaps, targets: Array, theta: Any
) -> tuple[float, Array]:
    """The log marginal likelihood at `theta`, parameters with `log` as logarithms, and its gradient."""
    from scipy.linalg import cho_solve
    from scipy.linalg.lapack import dpotri

    values = natural(parameters, theta)
    covariance, gradients = kernel.parameter_gradients(values[:-1], gaps)
    factor = _factor(covariance, float(values[-1]))
    whitened = cho_solve((factor, True), targets, check_finite=False)
    lower = dpotri(factor, lower=1)[0]
    inverse = np.tril(lower) + np.tril(lower, -1).T
    spread = np.outer(whitened, whitened) - inverse
    gradient = np.array([*(0.5 * np.vdot(spread, one) for one in gradients), 0.5 * np.trace(spread)])
    value = -0.5 * targets @ whitened - np.log(np.diag(factor)).sum() - 0.5 * len(targets) * np.log(2 * np.pi)
    return float(value), gradient * np.array([v if p.log else 1.0 for p, v in zip(parameters, values, strict=True)])


def natural(parameters: tuple[Parameter, ...], theta: Any) -> Array:
    """The values of the parameters, from logarithms where they have them."""
    return np.array([np.exp(one) if p.log else one for p, one in zip(parameters, theta, strict=True)])


def _factor(covariance: Array, noise: float) -> Array:
    """The lower Cholesky factor of the covariance with noise; against rounding errors a little more noise is added."""
    from scipy.linalg import LinAlgError, cholesky

    variance = float(np.trace(covariance)) / len(covariance)
    for jitter in (1e-10, 1e-8, 1e-6, 1e-4):
        whole = covariance.copy()
        whole.flat[:: len(whole) + 1] += noise + jitter * variance
        with contextlib.suppress(LinAlgError):
            factor: Array = cholesky(whole, lower=True, overwrite_a=True, check_finite=False)
            return factor
    raise ValueError("the covariance of the rows is not positive definite")
