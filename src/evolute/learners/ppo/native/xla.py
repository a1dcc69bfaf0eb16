"""LLVM's code as a function that XLA calls: compiled for this machine, and made known by XLA's foreign function interface.

The offsets are those of the structs of its C interface (`xla/ffi/api/c_api.h`), which it promises not to move.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
from llvmlite import binding, ir

from evolute.learners.ppo.native.emit import INDEX, POINTER, WORD, Emitter, Value

EXTENSIONS, ARGUMENTS, RESULTS = 8, 72, 112
"""In a call: what it is beyond a call, and the lists of buffers that are given and to be filled."""
DATA = 24
"""In a buffer: where its numbers are."""
METADATA, MAJOR, MINOR = 24, 24, 28
"""In the one extension there is, which asks what a function was built against: where to answer, and there the version."""
Body = Callable[[Emitter, list[Value], list[Value]], None]
"""`body(emit, given, made)` writes a function, from the addresses of its buffers."""


class Code:
    """Functions that live as long as the process, because compiled programs may call them."""

    def __init__(self) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        features = binding.get_host_cpu_features()
        self.lanes = 16 if features.get("avx512f") else 8 if features.get("avx") else 4
        self.machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=3, jit=True
        )
        self.engines: list[Any] = []

    def compiled(self, module: Any, name: str) -> int:
        """The address of a function of a module."""
        parsed = binding.parse_assembly(str(module))
        parsed.verify()
        tuning = binding.create_pipeline_tuning_options(speed_level=1)
        passes = binding.create_pass_builder(self.machine, tuning)
        passes.getModulePassManager().run(parsed, passes)
        engine = binding.create_mcjit_compiler(parsed, self.machine)
        engine.finalize_object()
        self.engines.append(engine)
        address: int = engine.get_function_address(name)
        return address


@cache
def code() -> Code:
    """This process's functions."""
    return Code()


@cache
def version() -> tuple[int, int]:
    """The interface's version, as its header has it."""
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    major, minor = (int(match[1]) if match else 0 for match in found)
    return major, minor


def register(name: str, *, given: int, made: int, body: Body) -> None:
    """Have XLA know a function under a name, with so many buffers each way."""
    module = ir.Module(name)
    module.triple = code().machine.triple
    function = ir.Function(module, ir.FunctionType(POINTER, [POINTER]), name)
    build = ir.IRBuilder(function.append_basic_block())
    call = function.args[0]
    question = _pointer(build, call, EXTENSIONS)
    with build.if_then(build.icmp_unsigned("!=", question, POINTER(None)), likely=False):
        answer = _pointer(build, question, METADATA)
        for number, offset in zip(version(), (MAJOR, MINOR), strict=True):
            build.store(WORD(number), _behind(build, answer, offset), align=4)
        build.ret(POINTER(None))
    buffers = [_buffers(build, call, *which) for which in ((ARGUMENTS, given), (RESULTS, made))]
    body(Emitter(build, code().lanes), *buffers)
    build.ret(POINTER(None))
    address = ctypes.c_void_p(code().compiled(module, name))
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform="cpu")


def _buffers(build: Any, call: Value, which: int, number: int) -> list[Value]:
    listed = _pointer(build, call, which)
    return [_pointer(build, _pointer(build, listed, 8 * place), DATA) for place in range(number)]


def _pointer(build: Any, start: Value, offset: int) -> Value:
    return build.load(_behind(build, start, offset), align=8, typ=POINTER)


def _behind(build: Any, start: Value, offset: int) -> Value:
    return build.gep(start, [INDEX(offset)], source_etype=ir.IntType(8))
