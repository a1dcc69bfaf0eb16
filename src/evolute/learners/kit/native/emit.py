"""Loops over float32 in memory as LLVM code, in which all sizes are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

FLOAT = ir.FloatType()
WORD = ir.IntType(32)
INDEX = ir.IntType(64)
POINTER = ir.PointerType()
Value = Any
"""A value or an address in LLVM's code; llvmlite has no types for its own."""
Vector = Any


class Emitter:
    """Writes code at `build`, for a machine with this many lanes."""

    def __init__(self, build: Any, lanes: int) -> None:
        self.build = build
        self.lanes = lanes

    def loop(self, count: int, body: Callable[[Value, list[Value]], list[Value]], carried: Sequence[Value]) -> list[Value]:
        """What `body(number, carried)` returns the last time; each time but the first it is handed what it returned before."""
        if not count:
            return list(carried)
        if count == 1:
            return body(INDEX(0), list(carried))
        build = self.build
        before, inside, after = build.block, build.append_basic_block(), build.append_basic_block()
        build.branch(inside)
        build.position_at_end(inside)
        number = build.phi(INDEX)
        phis = [build.phi(value.type) for value in carried]
        made = body(number, phis)
        following = build.add(number, INDEX(1))
        for phi, first, later in zip([number, *phis], [INDEX(0), *carried], [following, *made], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, build.block)
        build.cbranch(build.icmp_signed("<", following, INDEX(count)), inside, after)
        build.position_at_end(after)
        return made

    def each(self, count: int, body: Callable[[Value], None]) -> None:
        """Do `body(number)` for each number below `count`."""

        def once(number: Value, _: list[Value]) -> list[Value]:
            body(number)
            return []

        self.loop(count, once, [])

    def behind(self, number: Value, step: int, first: int) -> Value:
        """first + number * step."""
        return self.build.add(self.build.mul(number, INDEX(step)), INDEX(first))

    def at(self, start: Value, *steps: tuple[Value | int, int]) -> Value:
        """The address behind `start` by each number of steps of this size, counted in floats."""
        for number, step in steps:
            far = INDEX(number * step) if isinstance(number, int) else self.build.mul(number, INDEX(step))
            start = self.build.gep(start, [far], source_etype=FLOAT)
        return start

    def scalar(self, address: Value) -> Value:
        return self.build.load(address, align=4, typ=FLOAT)

    def vector(self, address: Value, lanes: int) -> Vector:
        return self.build.load(address, align=4, typ=ir.VectorType(FLOAT, lanes))

    def store(self, value: Value | Vector, address: Value) -> None:
        self.build.store(value, address, align=4)

    def everywhere(self, address: Value, lanes: int) -> Vector:
        """The number at an address in each lane."""
        nothing = ir.Constant(ir.VectorType(FLOAT, lanes), ir.Undefined)
        first = self.build.insert_element(nothing, self.scalar(address), WORD(0))
        return self.picked(first, first, [0] * lanes)

    def lane(self, vector: Vector, place: int) -> Value:
        return self.build.extract_element(vector, WORD(place))

    def same(self, number: float, lanes: int) -> Vector:
        """A known number in each lane."""
        return ir.Constant(ir.VectorType(FLOAT, lanes), [number] * lanes)

    def picked(self, one: Vector, other: Vector, places: list[int]) -> Vector:
        """The lanes of two vectors, one behind the other, at these places."""
        return self.build.shuffle_vector(one, other, ir.Constant(ir.VectorType(WORD, len(places)), places))

    def times_plus(self, a: Vector, b: Vector, c: Vector) -> Vector:
        """a * b + c, rounded once where the machine can do that."""
        name, module = f"llvm.fmuladd.v{a.type.count}f32", self.build.module
        known = module.globals.get(name) or ir.Function(module, ir.FunctionType(a.type, [a.type] * 3), name)
        return self.build.call(known, [a, b, c])
