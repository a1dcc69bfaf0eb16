"""Activations in LLVM's code, and gradients back through them, which need only what the activation gave."""

from __future__ import annotations

from evolute.learners.kit.native.emit import Emitter, Vector

FLAT = 7.9
OVER = (0.9999999943913848, 0.13450651870800479, 0.003579028978322455, 2.2023845583547276e-05, 1.542879272428451e-08)
UNDER = (1.0, 0.4678397989041266, 0.026192379082762392, 0.000342371063967272, 8.599118134620357e-07)
"""tanh(x) = x over(x²) / under(x²), fitted for the least relative error: 6e-9, and 4e-7 in float32. From `FLAT` on it stays as
it is there, as far from 1; it is never beyond 1, where gradients would change their sign."""


def forward(emit: Emitter, activation: str, x: Vector) -> Vector:
    """The activation of x; NaN stays NaN."""
    build, lanes = emit.build, x.type.count
    if activation == "relu":
        zero = emit.same(0, lanes)
        return build.select(build.fcmp_ordered("<", x, zero), zero, x)
    top, bottom = emit.same(FLAT, lanes), emit.same(-FLAT, lanes)
    x = build.select(build.fcmp_ordered(">", x, top), top, x)
    x = build.select(build.fcmp_ordered("<", x, bottom), bottom, x)
    square = build.fmul(x, x)
    return build.fdiv(build.fmul(x, _polynomial(emit, OVER, square)), _polynomial(emit, UNDER, square))


def backward(emit: Emitter, activation: str, y: Vector, gradient: Vector) -> Vector:
    """The gradient before an activation that gave y, from that behind it."""
    build, zero = emit.build, emit.same(0, y.type.count)
    if activation == "relu":
        return build.select(build.fcmp_ordered(">", y, zero), gradient, zero)
    return build.fsub(gradient, build.fmul(gradient, build.fmul(y, y)))


def _polynomial(emit: Emitter, terms: tuple[float, ...], x: Vector) -> Vector:
    total = emit.same(terms[-1], x.type.count)
    for term in terms[-2::-1]:
        total = emit.times_plus(total, x, emit.same(term, x.type.count))
    return total
