"""LLVM's code as a function that XLA calls: compiled for this machine, and made known by XLA's foreign function interface.

The offsets are those of the structs of its C interface (`xla/ffi/api/c_api.h`), which do not move within a major version.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any

import jax
from llvmlite import binding, ir

from evolute.learners.kit.native import support
from evolute.learners.kit.native.emit import INDEX, POINTER, WORD, Emitter, Value

EXTENSIONS, ARGUMENTS, RESULTS = 8, 72, 112
"""In a call: what it is beyond a call, and the lists of buffers that are given and to be filled."""
DATA = 24
"""In a buffer: where its numbers are."""
KIND, METADATA = 8, 24
"""In an extension: its kind, and of the kind that asks what a function was built against, where to answer."""
ASKS = 1
MAJOR, MINOR = 24, 28
"""In the answer: the interface's version."""
LOCK = RLock()
Body = Callable[[Emitter, list[Value], list[Value]], None]
"""`body(emit, given, made)` writes a function, from the addresses of its buffers."""


class Code:
    """Functions that live as long as the process, because compiled programs may call them."""

    def __init__(self) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.features = binding.get_host_cpu_features()
        self.lanes = 16 if self.features.get("avx512f") else 8 if self.features.get("avx") else 4
        self.engines: list[Any] = []
        self.known: set[str] = set()

    def compiled(self, module: Any, name: str) -> int:
        """The address of a function of a module."""
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=binding.get_host_cpu_name(), features=self.features.flatten(), opt=3, jit=True
        )
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        parsed = binding.parse_assembly(str(module))
        parsed.verify()
        tuning = binding.create_pipeline_tuning_options(speed_level=1)  # there is nothing left to unroll or vectorise
        passes = binding.create_pass_builder(machine, tuning)
        passes.getModulePassManager().run(parsed, passes)
        engine = binding.create_mcjit_compiler(parsed, machine)
        self.engines.append(engine)
        engine.finalize_object()
        address: int = engine.get_function_address(name)
        return address


_code = cache(Code)


def code() -> Code:
    """This process's functions."""
    with LOCK:
        return _code()


def register(name: str, *, given: int, made: int, body: Body) -> None:
    """Register a function with XLA under a name, with this many buffers given and made; one that it knows stays as it is."""
    with LOCK:
        if name not in code().known:
            address = ctypes.c_void_p(code().compiled(_written(name, given, made, body), name))
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform="cpu")
            code().known.add(name)


def _written(name: str, given: int, made: int, body: Body) -> Any:
    module = ir.Module(name)
    function = ir.Function(module, ir.FunctionType(POINTER, [POINTER]), name)
    build = ir.IRBuilder(function.append_basic_block())
    call = function.args[0]
    extension = _pointer(build, call, EXTENSIONS)
    with build.if_then(build.icmp_unsigned("!=", extension, POINTER(None)), likely=False):
        kind = build.load(_behind(build, extension, KIND), align=4, typ=WORD)
        with build.if_then(build.icmp_unsigned("==", kind, WORD(ASKS))):
            answer = _pointer(build, extension, METADATA)
            for number, offset in zip(support.interface() or (support.MAJOR, 0), (MAJOR, MINOR), strict=True):
                build.store(WORD(number), _behind(build, answer, offset), align=4)
            build.ret(POINTER(None))
    body(Emitter(build, code().lanes), _buffers(build, call, ARGUMENTS, given), _buffers(build, call, RESULTS, made))
    build.ret(POINTER(None))
    return module


def _buffers(build: Any, call: Value, which: int, number: int) -> list[Value]:
    listed = _pointer(build, call, which)
    return [_pointer(build, _pointer(build, listed, 8 * place), DATA) for place in range(number)]


def _pointer(build: Any, start: Value, offset: int) -> Value:
    return build.load(_behind(build, start, offset), align=8, typ=POINTER)


def _behind(build: Any, start: Value, offset: int) -> Value:
    return build.gep(start, [INDEX(offset)], source_etype=ir.IntType(8))
