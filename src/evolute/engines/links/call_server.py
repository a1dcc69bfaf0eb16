"""A worker's end of the link: an object whose methods are called by messages, in turn or concurrently."""

from __future__ import annotations

import queue
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evolute.core.interrupt import Interrupted
from evolute.core.tree import Tree


@dataclass
class CallServer:
    """Runs the calls to one object. `send` takes messages to the leader and may be called from any thread."""

    send: Callable[[Tree], None]
    target: Any = None
    _calls: queue.SimpleQueue[Tree] = field(default_factory=queue.SimpleQueue)
    _over: bool = False

    def take(self, message: Tree) -> None:
        """A message from the leader: concurrent calls are answered at once, others by the thread in `work`."""
        if message["concurrent"]:
            self.send(self.answer(message))
        else:
            self._calls.put(message)

    def work(self) -> None:
        """Answer calls, one after the other, until `leave`."""
        while (message := self._calls.get()) is not None:
            try:
                answer = self.answer(message)
            except Interrupted:
                return
            self.send(answer)

    def leave(self) -> None:
        """End `work` after its present call, or when that next sends an update."""
        self._over = True
        self._calls.put(None)

    def send_update(self, value: Tree) -> None:
        """Send the leader a message in the middle of a call."""
        if self._over:
            raise Interrupted(signal.SIGTERM)
        self.send({"update": value})

    def answer_peer(self, method: str, argument: Tree) -> Tree:
        """The answer to another worker's call, as a message."""
        return self.answer({"ticket": 0, "method": method, "argument": argument})

    def answer(self, message: Tree) -> Tree:
        """Call the method that a message names: its value, or the traceback of its exception."""
        try:
            return {"ticket": message["ticket"], "value": getattr(self.target, message["method"])(message["argument"])}
        except Interrupted:
            raise
        except (Exception, SystemExit, KeyboardInterrupt):
            return {"ticket": message["ticket"], "error": traceback.format_exc()}
