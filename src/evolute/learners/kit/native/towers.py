"""Towers: dense networks of one shape on one input, each with a head, and where all of it lies in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evolute.learners.kit import networks, weights
from evolute.learners.kit.native.emit import Emitter, Value
from evolute.learners.kit.native.matrices import Matrix, Product
from evolute.learners.kit.networks import Network
from evolute.learners.kit.torsos import Activation
from evolute.learners.kit.weights import Part


class Layer(NamedTuple):
    """Where the matrix and the biases of the first tower's layer start, and how far it is from one tower's to the next's."""

    matrix: int
    matrix_stride: int
    bias: int
    bias_stride: int


class Head(NamedTuple):
    """Where the matrix and the biases of a tower's head start, and how many outputs it has."""

    matrix: int
    bias: int
    outputs: int


@dataclass(frozen=True)
class Towers:
    """The networks, and where their weights lie in a vector of this size; the last `extra` numbers are nobody's weights."""

    inputs: int
    widths: tuple[int, ...]
    activation: Activation
    layers: tuple[Layer, ...]
    heads: tuple[Head, ...]
    size: int
    extra: int = 0

    @classmethod
    def of(cls, parts: Sequence[Part], names: Sequence[str], heads: Sequence[str], activation: Activation) -> Towers:
        """The towers whose dense layers have these names, and whose heads have those, among the parts of a weight vector."""
        starts, shapes = weights.starts(parts), {part.name: part.shape for part in parts}
        depth = sum(name.startswith(f"{names[0]}/dense") and name.endswith("/w") for name in starts)

        def place(layer: int, array: str) -> tuple[int, int]:
            first, last = (starts[f"{name}/dense{layer}/{array}"] for name in (names[0], names[-1]))
            return first, last - first

        return cls(
            shapes[f"{names[0]}/dense0/w"][0],
            tuple(shapes[f"{names[0]}/dense{layer}/w"][1] for layer in range(depth)),
            activation,
            tuple(Layer(*place(layer, "w"), *place(layer, "b")) for layer in range(depth)),
            tuple(Head(starts[f"{head}/w"], starts[f"{head}/b"], shapes[f"{head}/w"][1]) for head in heads),
            weights.size(parts),
            sum(part.size for part in parts if part.name == "log_std"),
        )

    @classmethod
    def of_network(cls, network: Network) -> Towers:
        """A policy's network, and beside it the value's if there is one."""
        names = (networks.ACTOR, networks.CRITIC) if network.critic else (networks.ACTOR,)
        heads = (networks.POLICY, networks.VALUE) if network.critic else (networks.POLICY,)
        return cls.of(networks.parts(network), names, heads, network.activation)

    @property
    def count(self) -> int:
        return len(self.heads)

    @property
    def name(self) -> str:
        """A word that tells these towers from others, the same in every process."""
        return hashlib.blake2b(repr(self).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class TowerLayout:
    """Where everything lies in memory, for minibatches of this many rows."""

    towers: Towers
    rows: int

    @property
    def widths(self) -> tuple[int, ...]:
        """The units before each layer and behind the last one."""
        return (self.towers.inputs, *self.towers.widths)

    @property
    def hidden(self) -> int:
        """How many numbers all activations are."""
        return self.towers.count * self.rows * sum(self.towers.widths)

    @property
    def gradients(self) -> int:
        """How many numbers the gradients of two layers' activations are; those of later layers make room for earlier ones."""
        return 2 * self.towers.count * self.rows * max(self.towers.widths)

    @property
    def turned(self) -> int:
        """How many numbers the largest matrix is that is transposed."""
        return self.rows * max(*self.towers.widths, *self._outputs)

    def room(self, lanes: int) -> int:
        """How many numbers of scratch memory any product needs."""
        return Product.scratch(max(self.rows, *self._outputs, *self.widths), lanes)

    @property
    def _outputs(self) -> list[int]:
        return [head.outputs for head in self.towers.heads]

    def activation(self, emit: Emitter, hidden: Value, place: int, tower: Value | int) -> Matrix:
        """Where the activations of a tower's layer are."""
        widths = self.towers.widths
        start = emit.at(hidden, (self.towers.count * sum(widths[:place]), self.rows), (tower, widths[place] * self.rows))
        return Matrix(start, self.rows)

    def gradient(self, emit: Emitter, gradients: Value, place: int, tower: Value | int) -> Matrix:
        """Where the gradients before the activations of a tower's layer are."""
        half = self.gradients // 2
        return Matrix(emit.at(gradients, (place % 2, half), (tower, half // self.towers.count)), self.rows)

    def layer(self, emit: Emitter, weights: Value, place: int, tower: Value | int) -> tuple[Value, Value]:
        """Where the matrix and the biases of a tower's layer are, in the weights or in what is laid out like them."""
        layer = self.towers.layers[place]
        matrix = emit.at(weights, (1, layer.matrix), (tower, layer.matrix_stride))
        return matrix, emit.at(weights, (1, layer.bias), (tower, layer.bias_stride))

    def head(self, emit: Emitter, weights: Value, tower: int) -> tuple[Value, Value]:
        """Where the matrix and the biases of a tower's head are."""
        head = self.towers.heads[tower]
        return emit.at(weights, (1, head.matrix)), emit.at(weights, (1, head.bias))
