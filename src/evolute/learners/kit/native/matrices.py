"""Small matrices in LLVM's code: products, transposes and sums.

A product holds a tile of its result in registers and walks once along the axis that is summed over, so that each element is
added up in one order, whatever the lanes of the machine. It needs one factor with its columns side by side and reads the other
number by number, in any layout; which factor that is decides what has to be transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from evolute.learners.kit.native.emit import Emitter, Value, Vector

HEIGHT, ACROSS = 6, 2
"""Rows of a tile, and vectors in each: with two for one factor and one for the other they take 15 of 16 registers."""
FAR = 128
"""A factor with this many numbers from row to row is copied strip by strip: its rows would share few places of the cache."""
Keep = Callable[[Value, Value, Vector], None]
"""`keep(row, column, vector)` disposes of a part of a product."""


@dataclass(frozen=True)
class Matrix:
    """Numbers in memory: [row, column] is `row * down + column * right` behind the start."""

    start: Value
    down: int
    right: int = 1


@dataclass(frozen=True)
class Strip:
    """Columns of a product that are made together: some vectors side by side, from a column on."""

    column: Value
    lanes: int
    vectors: int


@dataclass(frozen=True)
class Product:
    """a [row, shared] times b [shared, column], plus a bias [row], for a shape (rows, columns, shared); b's `right` is 1.

    `room` is scratch memory.
    """

    shape: tuple[int, int, int]
    a: Matrix
    b: Matrix
    keep: Keep
    room: Value
    bias: Value | None = None

    @staticmethod
    def scratch(shared: int, lanes: int) -> int:
        """How much scratch memory a product needs whose sums are this long: one strip, as wide as those copied are."""
        return shared * ACROSS * lanes

    def write(self, emit: Emitter) -> None:
        rows, columns, _ = self.shape
        across = ACROSS if rows > HEIGHT // 2 else 2 * ACROSS  # few rows make up for it, so that enough sums are under way
        for first, strips, lanes, vectors in _strips(columns, emit.lanes, across):
            emit.each(strips, partial(self._strip, emit, first, lanes, vectors))

    def _strip(self, emit: Emitter, first: int, lanes: int, vectors: int, number: Value) -> None:
        strip = Strip(emit.behind(number, lanes * vectors, first), lanes, vectors)
        rows, _, _ = self.shape
        far = self.b.down >= FAR and rows > 2 * HEIGHT and vectors <= ACROSS
        b = self._copied(emit, strip) if far else Matrix(emit.at(self.b.start, (strip.column, 1)), self.b.down)
        for top, tiles, height in _tiles(rows, HEIGHT):
            emit.each(tiles, partial(self._tile, emit, strip, b, top, height))

    def _copied(self, emit: Emitter, strip: Strip) -> Matrix:
        def copy(step: Value) -> None:
            for place in range(strip.vectors):
                at = emit.at(self.b.start, (step, self.b.down), (strip.column, 1), (place, strip.lanes))
                emit.store(emit.vector(at, strip.lanes), emit.at(self.room, (step, width), (place, strip.lanes)))

        width = strip.lanes * strip.vectors
        emit.each(self.shape[2], copy)
        return Matrix(self.room, width)

    def _tile(self, emit: Emitter, strip: Strip, b: Matrix, top: int, height: int, number: Value) -> None:
        row, lanes, vectors = emit.behind(number, height, top), strip.lanes, strip.vectors
        left = emit.at(self.a.start, (row, self.a.down))

        def onward(step: Value, sums: list[Vector]) -> list[Vector]:
            at = emit.at(b.start, (step, b.down))
            across = [emit.vector(emit.at(at, (place, lanes)), lanes) for place in range(vectors)]
            made: list[Vector] = []
            for place in range(height):
                one = emit.everywhere(emit.at(left, (step, self.a.right), (place, self.a.down)), lanes)
                made += [emit.times_plus(one, other, sums[len(made) + p]) for p, other in enumerate(across)]
            return made

        sums: list[Vector] = []
        for place in range(height):
            sums += [self._begin(emit, emit.behind(row, 1, place), lanes)] * vectors
        for place, vector in enumerate(emit.loop(self.shape[2], onward, sums)):
            self.keep(emit.behind(row, 1, place // vectors), emit.behind(strip.column, 1, place % vectors * lanes), vector)

    def _begin(self, emit: Emitter, row: Value, lanes: int) -> Vector:
        return emit.same(0, lanes) if self.bias is None else emit.everywhere(emit.at(self.bias, (row, 1)), lanes)


def transpose(emit: Emitter, shape: tuple[int, int], a: Matrix, to: Matrix) -> None:
    """Lay a [row, column] down as [column, row]; the `right` of both is 1."""
    rows, columns = shape
    lanes = emit.lanes
    high, wide = rows - rows % lanes, columns - columns % lanes

    def block(row: Value, column: Value) -> None:
        start = emit.at(a.start, (row, lanes * a.down), (column, lanes))
        end = emit.at(to.start, (column, lanes * to.down), (row, lanes))
        vectors = [emit.vector(emit.at(start, (place, a.down)), lanes) for place in range(lanes)]
        for place, vector in enumerate(_turned(emit, vectors)):
            emit.store(vector, emit.at(end, (place, to.down)))

    def single(row: Value, column: Value) -> None:
        number = emit.scalar(emit.at(a.start, (row, a.down), (column, 1)))
        emit.store(number, emit.at(to.start, (column, to.down), (row, 1)))

    def beside(row: Value) -> None:
        emit.each(columns - wide, lambda column: single(row, emit.behind(column, 1, wide)))

    def below(row: Value) -> None:
        emit.each(columns, lambda column: single(emit.behind(row, 1, high), column))

    emit.each(high // lanes, lambda row: emit.each(wide // lanes, lambda column: block(row, column)))
    emit.each(high, beside)
    emit.each(rows - high, below)


def _turned(emit: Emitter, vectors: list[Vector]) -> list[Vector]:
    """As many vectors as they have lanes, transposed: ever smaller blocks change places."""
    lanes = len(vectors)
    step = lanes // 2
    while step:
        made = list(vectors)
        for place in (place for place in range(lanes) if not place & step):
            pair = vectors[place], vectors[place + step]
            made[place] = emit.picked(*pair, [lanes + lane - step if lane & step else lane for lane in range(lanes)])
            made[place + step] = emit.picked(*pair, [lanes + lane if lane & step else lane + step for lane in range(lanes)])
        vectors, step = made, step // 2
    return vectors


def totals(emit: Emitter, shape: tuple[int, int], a: Matrix, to: Value) -> None:
    """The sum of each column of a [row, column]."""
    rows, columns = shape

    def along(first: int, lanes: int, vectors: int, number: Value) -> None:
        column = emit.behind(number, lanes * vectors, first)

        def onward(row: Value, sums: list[Vector]) -> list[Vector]:
            at = emit.at(a.start, (row, a.down), (column, 1))
            return [emit.build.fadd(sums[p], emit.vector(emit.at(at, (p, lanes)), lanes)) for p in range(vectors)]

        for place, vector in enumerate(emit.loop(rows, onward, [emit.same(0, lanes)] * vectors)):
            emit.store(vector, emit.at(to, (column, 1), (place, lanes)))

    for first, strips, lanes, vectors in _strips(columns, emit.lanes, 4 * ACROSS):
        emit.each(strips, partial(along, first, lanes, vectors))


def _tiles(number: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Parts of a range, as (first, how many, how long): as many of one size as fit, and the rest."""
    many = number // size
    if many:
        yield 0, many, size
    if number % size:
        yield many * size, 1, number % size


def _strips(number: int, lanes: int, vectors: int) -> Iterator[tuple[int, int, int, int]]:
    """Parts of a range, as (first, how many, lanes, vectors): narrower ones where the wider do not fit."""
    first = 0
    while first < number:
        many = (number - first) // (lanes * vectors)
        if many:
            yield first, many, lanes, vectors
        first += many * lanes * vectors
        vectors, lanes = (vectors // 2, lanes) if vectors > 1 else (1, lanes // 2)
