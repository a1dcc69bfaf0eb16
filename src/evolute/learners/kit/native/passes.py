"""A minibatch forward through towers, and its gradients back to the weights or to the inputs, in LLVM's code.

Activations are [tower, unit, row], as in `networks.twins`: so a layer's product, and that of its gradients with the weights,
find both factors as they need them. Only the gradient of the weights, which sums over rows, takes a transposed factor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from evolute.learners.kit.native import activations, matrices
from evolute.learners.kit.native.emit import Emitter, Value, Vector
from evolute.learners.kit.native.matrices import Keep, Matrix, Product
from evolute.learners.kit.native.towers import TowerLayout


def forward(emit: Emitter, layout: TowerLayout, given: list[Value], made: list[Value]) -> None:
    """From weights and inputs to each tower's outputs, and activations; the last buffer is scratch memory."""
    (weights, inputs), (*outputs, hidden, room) = given, made
    rows, towers = layout.rows, layout.towers

    def through(place: int, tower: Value) -> None:
        size, width = layout.widths[place : place + 2]
        w, b = layout.layer(emit, weights, place, tower)
        x = layout.activation(emit, hidden, place - 1, tower) if place else Matrix(inputs, rows)
        to = layout.activation(emit, hidden, place, tower)
        keep = _storing(emit, to, lambda row, column, vector: activations.forward(emit, towers.activation, vector))
        Product((width, rows, size), Matrix(w, 1, width), x, keep, room, b).write(emit)

    for place in range(len(towers.widths)):
        emit.each(towers.count, partial(through, place))
    width = layout.widths[-1]
    for tower, (head, to) in enumerate(zip(towers.heads, outputs, strict=True)):
        w, b = layout.head(emit, weights, tower)
        x = layout.activation(emit, hidden, len(towers.widths) - 1, tower)
        keep = _storing(emit, Matrix(to, rows))
        Product((head.outputs, rows, width), Matrix(w, 1, head.outputs), x, keep, room, b).write(emit)


def backward(emit: Emitter, layout: TowerLayout, given: list[Value], made: list[Value]) -> None:
    """From weights, inputs, activations and the outputs' gradients to the weights' gradient; the rest is scratch memory."""
    (weights, inputs, hidden, *by_outputs), (gradient, gradients, turned, room) = given, made
    rows, towers, last = layout.rows, layout.towers, len(layout.towers.widths) - 1

    def through_head(tower: int, outputs: int, by: Value) -> None:
        width = layout.widths[-1]
        to_w, to_b = layout.head(emit, gradient, tower)
        x = layout.activation(emit, hidden, last, tower)
        upright = Matrix(turned, width)
        matrices.transpose(emit, (width, rows), x, upright)
        keep = _storing(emit, Matrix(to_w, 1, outputs))
        Product((outputs, width, rows), Matrix(by, rows), upright, keep, room).write(emit)
        _before_head(emit, layout, (weights, hidden, gradients, room), tower, by)
        matrices.transpose(emit, (outputs, rows), Matrix(by, rows), Matrix(turned, outputs))
        matrices.totals(emit, (rows, outputs), Matrix(turned, outputs), to_b)

    def through_layer(place: int, tower: Value) -> None:
        size, width = layout.widths[place : place + 2]
        to_w, to_b = layout.layer(emit, gradient, place, tower)
        x = layout.activation(emit, hidden, place - 1, tower) if place else Matrix(inputs, rows)
        upright = Matrix(turned, width)
        matrices.transpose(emit, (width, rows), layout.gradient(emit, gradients, place, tower), upright)
        matrices.totals(emit, (rows, width), upright, to_b)
        keep = _storing(emit, Matrix(to_w, width))
        Product((size, width, rows), x, upright, keep, room).write(emit)
        if place:
            _before_layer(emit, layout, (weights, hidden, gradients, room), place, tower)

    def layers(tower: Value) -> None:
        for place in range(last, -1, -1):
            through_layer(place, tower)

    for tower, (head, by) in enumerate(zip(towers.heads, by_outputs[: towers.count], strict=True)):
        through_head(tower, head.outputs, by)
    emit.each(towers.count, layers)
    for place in range(towers.extra):
        number = emit.scalar(emit.at(by_outputs[-1], (place, 1)))
        emit.store(number, emit.at(gradient, (1, towers.size - towers.extra), (place, 1)))


def backward_to_inputs(emit: Emitter, layout: TowerLayout, first: int, given: list[Value], made: list[Value]) -> None:
    """From weights, activations and the outputs' gradients to the gradient of the inputs from `first` on; the rest is scratch
    memory."""
    (weights, hidden, *by_outputs), (gradient, gradients, room) = given, made
    towers, parts = layout.towers, (weights, hidden, gradients, room)

    def layers(tower: Value) -> None:
        for place in range(len(towers.widths) - 1, 0, -1):
            _before_layer(emit, layout, parts, place, tower)

    for tower, by in enumerate(by_outputs):
        _before_head(emit, layout, parts, tower, by)
    emit.each(towers.count, layers)
    to = Matrix(gradient, layout.rows)
    for tower in range(towers.count):
        w, _ = layout.layer(emit, weights, 0, tower)
        keep = _storing(emit, to, _added(emit, to) if tower else None)
        shape = (towers.inputs - first, layout.rows, towers.widths[0])
        start = emit.at(w, (first, towers.widths[0]))
        by = layout.gradient(emit, gradients, 0, tower)
        Product(shape, Matrix(start, towers.widths[0]), by, keep, room).write(emit)


Parts = tuple[Value, Value, Value, Value]
"""Weights, activations, their gradients, and scratch memory."""


def _before_head(emit: Emitter, layout: TowerLayout, parts: Parts, tower: int, by: Value) -> None:
    """The gradients before a tower's last activations, from those of its outputs."""
    weights, hidden, gradients, room = parts
    last, outputs = len(layout.towers.widths) - 1, layout.towers.heads[tower].outputs
    w, _ = layout.head(emit, weights, tower)
    x = layout.activation(emit, hidden, last, tower)
    keep = _storing(emit, layout.gradient(emit, gradients, last, tower), _through(emit, layout, x))
    Product((layout.widths[-1], layout.rows, outputs), Matrix(w, outputs), Matrix(by, layout.rows), keep, room).write(emit)


def _before_layer(emit: Emitter, layout: TowerLayout, parts: Parts, place: int, tower: Value) -> None:
    """The gradients before the activations that a layer is shown, from those before its own."""
    weights, hidden, gradients, room = parts
    size, width = layout.widths[place : place + 2]
    w, _ = layout.layer(emit, weights, place, tower)
    x = layout.activation(emit, hidden, place - 1, tower)
    keep = _storing(emit, layout.gradient(emit, gradients, place - 1, tower), _through(emit, layout, x))
    Product((size, layout.rows, width), Matrix(w, width), layout.gradient(emit, gradients, place, tower), keep, room).write(
        emit
    )


Change = Callable[[Value, Value, Vector], Vector]


def _storing(emit: Emitter, to: Matrix, change: Change | None = None) -> Keep:
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


def _added(emit: Emitter, to: Matrix) -> Change:
    """Add to what is in memory."""

    def change(row: Value, column: Value, vector: Vector) -> Vector:
        return emit.build.fadd(emit.vector(emit.at(to.start, (row, to.down), (column, 1)), vector.type.count), vector)

    return change


def _through(emit: Emitter, layout: TowerLayout, x: Matrix) -> Change:
    """Gradients back through the activations x."""

    def change(row: Value, column: Value, gradient: Vector) -> Vector:
        y = emit.vector(emit.at(x.start, (row, x.down), (column, 1)), gradient.type.count)
        return activations.backward(emit, layout.towers.activation, y, gradient)

    return change
