"""Covariances of gains over hyper-parameters, context and time, with analytic gradients.

PB2's (arXiv 2002.02518, section 4) and PB2-Mix's (arXiv 2106.15883, section 4.2) are `Pb2Kernel`, BG-PBT's (arXiv
2207.09405, appendix B) is `BgPbtKernel`. A length scale is shared by a group of numbers. Time fades correlation by
(1 - eps)^(|t - t'| / 2), written here as exp(-rate |t - t'|) with rate = -ln(1 - eps) / 2; time counts turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from evolute.strategies.bayes.points import Array, Points

ROOT5 = math.sqrt(5.0)


class Parameter(NamedTuple):
    """One parameter of a kernel: its bounds, and the normal prior over it or, with `log`, over its logarithm."""

    name: str
    low: float
    high: float
    likely: float
    spread: float
    log: bool = True


class Gaps(NamedTuple):
    """How far rows a and b are apart: squares [group, a, b], share of equal categories [a, b], time [a, b]."""

    squares: Array
    overlap: Array
    time: Array


class Kernel(Protocol):
    """A covariance: its parameters, and matrices and gradients for values of them."""

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    @property
    def groups(self) -> tuple[int, ...]:
        """The group of each number."""

    def matrix(self, values: Array, gaps: Gaps) -> Array:
        """The covariance: [a, b]."""

    def diagonal(self, values: Array) -> float:
        """The variance of any row."""

    def parameter_gradients(self, values: Array, gaps: Gaps) -> tuple[Array, list[Array]]:
        """The covariance, and its gradient by each parameter."""

    def square_gradients(self, values: Array, gaps: Gaps) -> tuple[Array, Array]:
        """The covariance, and its gradient by each group's squared distances: [group, a, b]."""


def gaps_between(groups: Sequence[int], a: Points, b: Points) -> Gaps:
    """How far the rows of `a` are from those of `b`."""
    squares = np.zeros((max(groups, default=0) + 1, len(a), len(b)))
    for number, group in enumerate(groups):
        squares[group] += (a.numbers[:, None, number] - b.numbers[None, :, number]) ** 2
    equal = a.categories[:, None, :] == b.categories[None, :, :]
    overlap = equal.mean(axis=2) if equal.shape[2] else np.ones(squares.shape[1:])
    return Gaps(squares, overlap, np.abs(a.time[:, None] - b.time[None, :]))


def eps_of(rate: float) -> float:
    """The share forgotten in two turns, from the rate at which correlation fades."""
    return 1 - math.exp(-2 * rate)


def rate_of(eps: float) -> float:
    """The rate at which correlation fades, from the share forgotten in two turns."""
    return -math.log(1 - eps) / 2


@dataclass(frozen=True)
class Pb2Kernel:
    """scale · SE(numbers) · fading, and with categories scale · ((1 - mix) (k_x + k_c) / 2 + mix k_x k_c).

    k_x is SE times its fading, k_c the share of equal categories times its own fading. `fades` False leaves time out.
    """

    groups: tuple[int, ...]
    categories: int = 0
    fades: bool = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        lengths = [Parameter(f"length{group}", 0.005, 20.0, 0.2, 0.75) for group in range(max(self.groups, default=0) + 1)]
        rate = Parameter("rate", 1e-4, rate_of(0.5), 0.03, 1.0) if self.fades else Parameter("rate", 1e-12, 1e-12, 1e-12, 1.0)
        mixed = [rate._replace(name="rate_c"), Parameter("mix", 0.0, 1.0, 0.5, 0.25, log=False)] if self.categories else []
        return (Parameter("scale", 0.05, 10.0, 1.0, 0.75), *lengths, rate, *mixed)

    def matrix(self, values: Array, gaps: Gaps) -> Array:
        scale, smooth, matched, mix = self._factors(values, gaps)
        return scale * smooth if not self.categories else scale * _mixed(smooth, matched, mix, 0.5)

    def diagonal(self, values: Array) -> float:
        return float(values[0])

    def parameter_gradients(self, values: Array, gaps: Gaps) -> tuple[Array, list[Array]]:
        scale, smooth, matched, mix = self._factors(values, gaps)
        lengths = self._lengths(values)
        covariance = scale * (_mixed(smooth, matched, mix, 0.5) if self.categories else smooth)
        by_smooth = scale * smooth * (_by_factor(matched, mix, 0.5) if self.categories else 1.0)
        gradients = [covariance / scale]
        gradients += [by_smooth * squares / length**2 for squares, length in zip(gaps.squares, lengths, strict=True)]
        gradients.append(-gaps.time * by_smooth)
        if self.categories:
            gradients.append(-gaps.time * scale * matched * _by_factor(smooth, mix, 0.5))
            gradients.append(scale * (smooth * matched - (smooth + matched) / 2))
        return covariance, gradients

    def square_gradients(self, values: Array, gaps: Gaps) -> tuple[Array, Array]:
        scale, smooth, matched, mix = self._factors(values, gaps)
        covariance = scale * (_mixed(smooth, matched, mix, 0.5) if self.categories else smooth)
        by_smooth = scale * smooth * (_by_factor(matched, mix, 0.5) if self.categories else 1.0)
        return covariance, -by_smooth[None] / self._lengths(values)[:, None, None]

    def _lengths(self, values: Array) -> Array:
        return values[1 : 2 + max(self.groups, default=0)]

    def _factors(self, values: Array, gaps: Gaps) -> tuple[float, Array, Array, float]:
        lengths = self._lengths(values)
        rest = values[1 + len(lengths) :]
        smooth = np.exp(-np.tensordot(1 / lengths, gaps.squares, axes=1) - rest[0] * gaps.time)
        if not self.categories:
            return float(values[0]), smooth, smooth, 0.0
        return float(values[0]), smooth, gaps.overlap * np.exp(-rest[1] * gaps.time), float(rest[2])


@dataclass(frozen=True)
class BgPbtKernel:
    """scale · ((1 - mix) (k_x + k_c) + mix k_x k_c) · fading, mix = 0.5; without categories scale · k_x · fading.

    k_x is Matérn 5/2 with a length scale per group, k_c = exp(l · (overlap - 1)), the paper's exp(l · overlap) brought to 1
    for equal categories.
    """

    groups: tuple[int, ...]
    categories: int = 0
    mix: float = 0.5

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        widest = math.sqrt(max(len(self.groups), 1))
        lengths = [Parameter(f"length{group}", 0.01, widest, 0.5, 1.0) for group in range(max(self.groups, default=0) + 1)]
        matched = [Parameter("likeness", 0.05, 10.0, 1.0, 1.0)] if self.categories else []
        return (Parameter("scale", 0.5, 5.0, 1.0, 0.75), *lengths, Parameter("rate", 1e-4, 2.0, 0.03, 1.0), *matched)

    def matrix(self, values: Array, gaps: Gaps) -> Array:
        return self._whole(values, gaps)[0]

    def diagonal(self, values: Array) -> float:
        return float(values[0]) * (2 - self.mix if self.categories else 1.0)

    def parameter_gradients(self, values: Array, gaps: Gaps) -> tuple[Array, list[Array]]:
        covariance, smooth, matched, faded = self._whole(values, gaps)
        lengths = self._lengths(values)
        by_squares = faded * self._by_smooth(matched) * _matern_gradient(lengths, gaps)
        gradients = [covariance / values[0]]
        gradients += [-2 * by_squares * squares / length**3 for squares, length in zip(gaps.squares, lengths, strict=True)]
        gradients.append(-gaps.time * covariance)
        if self.categories:
            gradients.append(faded * _by_factor(smooth, self.mix, 1.0) * (gaps.overlap - 1) * matched)
        return covariance, gradients

    def square_gradients(self, values: Array, gaps: Gaps) -> tuple[Array, Array]:
        covariance, _, matched, faded = self._whole(values, gaps)
        lengths = self._lengths(values)
        by_squares = faded * self._by_smooth(matched) * _matern_gradient(lengths, gaps)
        return covariance, by_squares[None] / lengths[:, None, None] ** 2

    def _by_smooth(self, matched: Array) -> Array | float:
        return _by_factor(matched, self.mix, 1.0) if self.categories else 1.0

    def _lengths(self, values: Array) -> Array:
        return values[1 : 2 + max(self.groups, default=0)]

    def _whole(self, values: Array, gaps: Gaps) -> tuple[Array, Array, Array, Array]:
        """The covariance and its factors: k_x, k_c, and scale times fading."""
        lengths = self._lengths(values)
        rest = values[1 + len(lengths) :]
        far = ROOT5 * np.sqrt(np.tensordot(1 / lengths**2, gaps.squares, axes=1))
        smooth = (1 + far + far**2 / 3) * np.exp(-far)
        faded = values[0] * np.exp(-rest[0] * gaps.time)
        if not self.categories:
            return faded * smooth, smooth, smooth, faded
        matched = np.exp(rest[1] * (gaps.overlap - 1))
        return faded * _mixed(smooth, matched, self.mix, 1.0), smooth, matched, faded


def _mixed(one: Array, other: Array, mix: float, share: float) -> Array:
    return (1 - mix) * share * (one + other) + mix * one * other


def _by_factor(other: Array, mix: float, share: float) -> Array:
    """The derivative of `_mixed` by one factor."""
    return (1 - mix) * share + mix * other


def _matern_gradient(lengths: Array, gaps: Gaps) -> Array:
    """The derivative of Matérn 5/2 by the scaled squared distance."""
    far = ROOT5 * np.sqrt(np.tensordot(1 / lengths**2, gaps.squares, axes=1))
    gradient: Array = -(5 / 6) * (1 + far) * np.exp(-far)
    return gradient
