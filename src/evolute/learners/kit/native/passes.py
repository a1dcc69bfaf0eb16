"""A minibatch forward through twins, dense policy and value networks of one shape, and its gradients back, in LLVM's code.

Activations are [twin, unit, row], as in `networks.twins`: so a layer's product, and that of its gradients with the weights,
find both factors as they need them. Only the gradient of the weights, which sums over rows, takes a transposed factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from evolute.learners.kit import networks
from evolute.learners.kit.native import activations, matrices
from evolute.learners.kit.native.emit import Emitter, Value, Vector
from evolute.learners.kit.native.matrices import Keep, Matrix, Product
from evolute.learners.kit.networks import Network


@dataclass(frozen=True)
class TwinLayout:
    """Where everything lies in memory, for minibatches of this many rows."""

    network: Network
    rows: int

    @cached_property
    def starts(self) -> dict[str, int]:
        """Where each part of the weights starts."""
        return networks.starts(self.network)

    @property
    def widths(self) -> tuple[int, ...]:
        """The units before each layer and behind the last one."""
        return (*self.network.obs, *self.network.widths)

    @property
    def heads(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Name and outputs of each twin's head."""
        return ("policy", self.network.outputs), ("value", self.network.values)

    @property
    def hidden(self) -> int:
        """How many numbers all activations are."""
        return 2 * self.rows * sum(self.network.widths)

    @property
    def gradients(self) -> int:
        """How many numbers the gradients of two layers' activations are; those of later layers make room for earlier ones."""
        return 4 * self.rows * max(self.network.widths)

    @property
    def turned(self) -> int:
        """How many numbers the largest matrix is that is transposed."""
        return self.rows * max(*self.network.widths, self.network.outputs, self.network.values)

    def room(self, lanes: int) -> int:
        """How many numbers of scratch memory any product needs."""
        return Product.scratch(max(self.rows, self.network.outputs, self.network.values, *self.widths), lanes)

    def activation(self, emit: Emitter, hidden: Value, place: int, twin: Value | int) -> Matrix:
        """Where the activations of a twin's layer are."""
        widths = self.network.widths
        start = emit.at(hidden, (2 * sum(widths[:place]), self.rows), (twin, widths[place] * self.rows))
        return Matrix(start, self.rows)

    def gradient(self, emit: Emitter, gradients: Value, place: int, twin: Value | int) -> Matrix:
        """Where the gradients before the activations of a twin's layer are."""
        return Matrix(emit.at(gradients, (place % 2, self.gradients // 2), (twin, self.gradients // 4)), self.rows)

    def layer(self, emit: Emitter, weights: Value, place: int, twin: Value) -> tuple[Value, Value]:
        """Where the matrix and the biases of a twin's layer are, in the weights or in what is laid out like them."""
        size, width = self.widths[place : place + 2]
        w = emit.at(weights, (1, self.starts[f"actor/dense{place}/w"]), (twin, size * width))
        return w, emit.at(weights, (1, self.starts[f"actor/dense{place}/b"]), (twin, width))

    def head(self, emit: Emitter, weights: Value, name: str) -> tuple[Value, Value]:
        """Where the matrix and the biases of a head are."""
        return emit.at(weights, (1, self.starts[f"{name}/w"])), emit.at(weights, (1, self.starts[f"{name}/b"]))


def forward(emit: Emitter, layout: TwinLayout, given: list[Value], made: list[Value]) -> None:
    """From weights and obs to outputs, values and activations; the last buffer is scratch memory."""
    (weights, obs), (outputs, values, hidden, room) = given, made
    rows, activation = layout.rows, layout.network.activation

    def through(place: int, twin: Value) -> None:
        size, width = layout.widths[place : place + 2]
        w, b = layout.layer(emit, weights, place, twin)
        x = layout.activation(emit, hidden, place - 1, twin) if place else Matrix(obs, rows)
        to = layout.activation(emit, hidden, place, twin)
        keep = _storing(emit, to, lambda row, column, vector: activations.forward(emit, activation, vector))
        Product((width, rows, size), Matrix(w, 1, width), x, keep, room, b).write(emit)

    for place in range(len(layout.network.widths)):
        emit.each(2, partial(through, place))
    width = layout.widths[-1]
    for twin, ((name, number), to) in enumerate(zip(layout.heads, (outputs, values), strict=True)):
        w, b = layout.head(emit, weights, name)
        x = layout.activation(emit, hidden, len(layout.network.widths) - 1, twin)
        keep = _storing(emit, Matrix(to, rows))
        Product((number, rows, width), Matrix(w, 1, number), x, keep, room, b).write(emit)


def backward(emit: Emitter, layout: TwinLayout, given: list[Value], made: list[Value]) -> None:
    """From weights, obs, activations and the predictions' gradients to the weights' gradient; the rest is scratch memory."""
    (weights, obs, hidden, *predictions), (gradient, gradients, turned, room) = given, made
    rows, last = layout.rows, len(layout.network.widths) - 1

    def through_head(twin: int, name: str, outputs: int, by: Value) -> None:
        width = layout.widths[-1]
        (w, _), (to_w, to_b) = (layout.head(emit, start, name) for start in (weights, gradient))
        x = layout.activation(emit, hidden, last, twin)
        upright = Matrix(turned, width)
        matrices.transpose(emit, (width, rows), x, upright)
        keep = _storing(emit, Matrix(to_w, 1, outputs))
        Product((outputs, width, rows), Matrix(by, rows), upright, keep, room).write(emit)
        keep = _storing(emit, layout.gradient(emit, gradients, last, twin), _through(emit, layout, x))
        Product((width, rows, outputs), Matrix(w, outputs), Matrix(by, rows), keep, room).write(emit)
        matrices.transpose(emit, (outputs, rows), Matrix(by, rows), Matrix(turned, outputs))
        matrices.totals(emit, (rows, outputs), Matrix(turned, outputs), to_b)

    def through_layer(place: int, twin: Value) -> None:
        size, width = layout.widths[place : place + 2]
        (w, _), (to_w, to_b) = (layout.layer(emit, start, place, twin) for start in (weights, gradient))
        x = layout.activation(emit, hidden, place - 1, twin) if place else Matrix(obs, rows)
        by = layout.gradient(emit, gradients, place, twin)
        upright = Matrix(turned, width)
        matrices.transpose(emit, (width, rows), by, upright)
        matrices.totals(emit, (rows, width), upright, to_b)
        keep = _storing(emit, Matrix(to_w, width))
        Product((size, width, rows), x, upright, keep, room).write(emit)
        if place:
            keep = _storing(emit, layout.gradient(emit, gradients, place - 1, twin), _through(emit, layout, x))
            Product((size, rows, width), Matrix(w, width), by, keep, room).write(emit)

    def layers(twin: Value) -> None:
        for place in range(last, -1, -1):
            through_layer(place, twin)

    for twin, ((name, number), by) in enumerate(zip(layout.heads, predictions[:2], strict=True)):
        through_head(twin, name, number, by)
    emit.each(2, layers)
    for place in range(layout.network.spread):
        emit.store(
            emit.scalar(emit.at(predictions[2], (place, 1))), emit.at(gradient, (1, layout.starts["log_std"]), (place, 1))
        )


def _storing(emit: Emitter, to: Matrix, change: Callable[[Value, Value, Vector], Vector] | None = None) -> Keep:
    """Keep a product in memory, after a change."""

    def keep(row: Value, column: Value, vector: Vector) -> None:
        if change is not None:
            vector = change(row, column, vector)
        at = emit.at(to.start, (row, to.down), (column, to.right))
        if to.right == 1:
            emit.store(vector, at)
            return
        for lane in range(vector.type.count):
            emit.store(emit.lane(vector, lane), emit.at(at, (lane, to.right)))

    return keep


def _through(emit: Emitter, layout: TwinLayout, x: Matrix) -> Callable[[Value, Value, Vector], Vector]:
    """Gradients back through the activations x."""

    def change(row: Value, column: Value, gradient: Vector) -> Vector:
        y = emit.vector(emit.at(x.start, (row, x.down), (column, 1)), gradient.type.count)
        return activations.backward(emit, layout.network.activation, y, gradient)

    return change
