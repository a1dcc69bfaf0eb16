"""TensorBoard's event files: records with checksums (TFRecord) that hold messages in protobuf's wire format.

Only what scalars and texts need is written: event.proto, summary.proto and tensor.proto of TensorBoard.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

STRING = 7
"""The type number of string tensors."""


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)  # noqa: PLW2901
        table.append(byte)
    return table


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and offset as in TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


class EventFile:
    """One event file, which replaces any earlier one in its folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
        self._file: BinaryIO = (folder / name).open("wb")
        self._record(_bytes(3, b"brain.Event:2"))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Several numbers of one step."""
        summary = b"".join(
            _bytes(1, _bytes(1, name.encode()) + b"\x15" + struct.pack("<f", value)) for name, value in values.items()
        )
        self._record(b"\x10" + varint(step) + _bytes(5, summary))

    def text(self, step: int, name: str, text: str) -> None:
        """A text, for TensorBoard's text page."""
        plugin = _bytes(9, _bytes(1, _bytes(1, b"text")))
        tensor = _bytes(8, b"\x08" + varint(STRING) + _bytes(2, _bytes(2, b"\x08\x01")) + _bytes(8, text.encode()))
        self._record(b"\x10" + varint(step) + _bytes(5, _bytes(1, _bytes(1, name.encode()) + plugin + tensor)))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _record(self, body: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + body
        length = struct.pack("<Q", len(event))
        self._file.write(length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event)))
