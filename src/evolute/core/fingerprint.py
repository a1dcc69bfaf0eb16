"""A fingerprint of somebody's own code, so that a run can tell whether that code has changed since.

It is taken of what runs, not of its text: compiled code with its constants, defaults and captured values, and what that
code refers to, as far as it is the user's own too. So code of notebooks, of a prompt and of standard input has one, and
comments, blank lines and docstrings do not count. Installed packages and Evolute itself are left out.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

SIZE = 16
PLAIN = (bool, int, float, complex, str, bytes, type(None))
MAKERS = ("__init__", "__new__", "__post_init__")
"""Methods that set attributes up; attributes that others set change while training, and do not count."""


def python() -> str:
    """The version of Python that fingerprints are of: another one compiles the same text to other code."""
    return ".".join(map(str, sys.version_info[:2]))


def fingerprint(thing: Any) -> str | None:
    """The fingerprint of a function, class or object; None if none of its code is the user's own."""
    walk = _Walk()
    walk.visit("", thing)
    if not walk.found:
        return None
    return hashlib.blake2b("\n".join(walk.lines).encode(), digest_size=SIZE).hexdigest()


def file_fingerprint(path: Path) -> str:
    """The fingerprint of a program in a file: of its statements if it is Python, else of its bytes."""
    content = path.read_bytes()
    if path.suffix == ".py":
        with contextlib.suppress(SyntaxError, ValueError):
            content = ast.unparse(ast.parse(content)).encode()
    return hashlib.blake2b(content, digest_size=SIZE).hexdigest()


@dataclass
class _Walk:
    """What was seen on the way through a user's code; `found` if any of it was their own."""

    lines: list[str] = field(default_factory=list)
    found: bool = False
    _seen: set[int] = field(default_factory=set)

    def visit(self, name: str, thing: Any) -> None:
        """Add what a name refers to, if it is plain or the user's own code."""
        thing = _unwrapped(thing)
        if _is_plain(thing):
            self.lines.append(f"{name} = {_text(thing)}")
        elif id(thing) not in self._seen:
            self._seen.add(id(thing))
            self._own_code(name, thing)

    def _own_code(self, name: str, thing: Any) -> None:
        match thing:
            case FunctionType():
                self._function(name, thing)
            case MethodType():
                self.visit(name, thing.__func__)
                self._object(name, thing.__self__)
            case functools.partial():
                self.visit(name, thing.func)
                for key, value in [*enumerate(thing.args), *sorted(thing.keywords.items())]:
                    self.visit(f"{name}.{key}", value)
            case type():
                self._class(name, thing)
            case ModuleType():
                self._module(name, thing)
            case property():
                for part in filter(None, (thing.fget, thing.fset)):
                    self.visit(f"{name}.{part.__name__}", part)
            case _:
                self._object(name, thing)

    def _function(self, name: str, function: FunctionType) -> None:
        if not _own(function.__module__):
            return
        self.found = True
        self.lines.append(f"{name} function")
        self.lines += _described(function.__code__, function.__doc__)
        self.visit(f"{name}.defaults", function.__defaults__)
        for key, value in sorted((function.__kwdefaults__ or {}).items()):
            self.visit(f"{name}.{key}", value)
        used, changed = _names(function.__code__)
        captured = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        for key in sorted(used - changed):
            if key in captured:
                self.visit(key, _content(captured[key]))
            elif key in function.__globals__:
                self.visit(key, function.__globals__[key])
        if "__wrapped__" in vars(function):
            self.visit(f"{name}.wrapped", vars(function)["__wrapped__"])

    def _class(self, name: str, kind: type) -> None:
        for one in kind.__mro__:
            if not _own(one.__module__):
                continue
            self.found = True
            self.lines.append(f"{name} class {one.__name__}")
            for key, value in sorted(vars(one).items()):
                if key not in ("__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__"):
                    self.visit(f"{one.__name__}.{key}", value)

    def _object(self, name: str, thing: Any) -> None:
        """An object of a user's class: the class, and the plain attributes that only its construction sets."""
        if not _own(type(thing).__module__):
            return
        self.visit(name, type(thing))
        methods = [f for one in type(thing).__mro__ for f in vars(one).values() if inspect.isfunction(f)]
        changing = {key for f in methods if f.__name__ not in MAKERS for key in _attributes_set(f.__code__)}
        for key, value in sorted(_attributes(thing).items()):
            if key not in changing and _is_plain(value):
                self.visit(f"{name}.{key}", value)

    def _module(self, name: str, module: ModuleType) -> None:
        """A module of the user's: what it defines. What it merely imports comes in where code refers to it."""
        if not _own(module.__name__) or module.__name__ == "__main__":
            return
        for key, value in sorted(vars(module).items()):
            if inspect.isroutine(value) or isinstance(value, type):
                if value.__module__ == module.__name__:
                    self.visit(f"{name}.{key}", value)
            elif not key.startswith("__") and _is_plain(value):
                self.visit(f"{name}.{key}", value)


def _is_plain(value: Any) -> bool:
    """Whether a value cannot change and says all of itself."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_plain, value))
    return type(value) in PLAIN


def _text(value: Any) -> str:
    """A plain value, with sets in an order that is the same in every process."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    return f"({', '.join(map(_text, value))})" if isinstance(value, tuple) else repr(value)


def _unwrapped(thing: Any) -> Any:
    """The function inside a static or class method, or inside what a decorator such as jax.jit made of it."""
    if isinstance(thing, (staticmethod, classmethod)):
        return thing.__func__
    wraps = not isinstance(thing, (FunctionType, type)) and inspect.getattr_static(thing, "__wrapped__", None) is not None
    return thing.__wrapped__ if wraps else thing


@functools.cache
def _installed() -> tuple[Path, ...]:
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*(Path(place).resolve() for place in places), Path(__file__).resolve().parents[1])


@functools.cache
def _own(module: str | None) -> bool:
    """Whether code of this module is the user's: not built in, installed, or Evolute's, whoever started the program."""
    if module == "__main__":
        return True
    known = sys.modules.get(module or "")
    if known is None or module in sys.builtin_module_names:
        return module not in sys.builtin_module_names
    file = vars(known).get("__file__")
    if file is None:
        return vars(known).get("__spec__") is None
    return not any(Path(file).resolve().is_relative_to(place) for place in _installed())


def _described(code: CodeType, doc: str | None = None) -> Iterator[str]:
    """Compiled code as lines, without line numbers, file names and its docstring."""
    yield f"{code.co_name} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags} {code.co_code.hex()}"
    yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    yield getattr(code, "co_exceptiontable", b"").hex()
    for place, constant in enumerate(code.co_consts):
        if isinstance(constant, CodeType):
            yield from _described(constant)
        elif place or constant != doc:
            yield f"{type(constant).__name__} {_text(constant)}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """The outer names that code uses, and those among them that it changes itself."""
    used: set[str] = set()
    changed: set[str] = set()
    for one in _codes(code):
        used |= {*one.co_names, *one.co_freevars}
        for step in dis.get_instructions(one):
            if step.opname in ("STORE_GLOBAL", "STORE_DEREF"):
                changed.add(str(step.argval))
    return used, changed


def _attributes_set(code: CodeType) -> set[str]:
    return {str(step.argval) for one in _codes(code) for step in dis.get_instructions(one) if step.opname == "STORE_ATTR"}


def _attributes(thing: Any) -> dict[str, Any]:
    return vars(thing) if "__dict__" in dir(thing) else {}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
