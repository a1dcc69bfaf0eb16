"""Messages that other processes on the same machine read where they lie."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evolute.engines.links.same_machine import Landmark, Published, mapped, sees
from evolute.engines.links.wire import decoded, encoded

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="messages are published on Linux only")
READ = """
import sys
from evolute.engines.links.same_machine import mapped
from evolute.engines.links.wire import decoded
print(decoded(mapped(sys.argv[1]))["weights"].sum())
"""
SEE = """
import sys
from evolute.engines.links.same_machine import sees
print(sees((sys.argv[1], bytes.fromhex(sys.argv[2]))))
"""


def there(code: str, *words: str) -> str:
    """What another process says."""
    return subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_another_process_reads_what_was_published():
    published = Published(encoded({"weights": np.arange(1000.0)}))
    assert there(READ, published.address) == "499500.0"


def test_a_message_is_gone_with_its_publisher_but_not_for_those_who_read_it():
    published = Published(encoded({"weights": np.ones(1000)}))
    weights = decoded(mapped(published.address))["weights"]
    address = Path(published.address)
    del published
    gc.collect()
    assert not address.exists()
    assert weights.sum() == 1000
    assert not weights.flags.writeable


def test_a_landmark_is_seen_here_alone():
    address, secret = Landmark().description  # the landmark itself is dropped
    gc.collect()
    assert not sees((address, secret))
    landmark = Landmark()
    address, secret = landmark.description
    assert there(SEE, address, secret.hex()) == "True"
    assert there(SEE, address, bytes(32).hex()) == "False"
    assert not sees(("", secret))
