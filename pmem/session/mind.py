"""Mind: a model's memory agent beside the session's loop, in a thread of its own.

The loop hands over a snapshot of a moment and goes on; what the model came to is fetched when
the mind's descriptor can be read. One question at a time; a newer one of the same trajectory
takes the place of one that still waits, and one that waited sees what the ones before it did.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pmem.core.bank import BankOp, MemoryBank
from pmem.core.decision import Decision, Reminder, Silence, Trigger
from pmem.core.gate import Gate
from pmem.core.history import History
from pmem.core.moment import Moment
from pmem.memory.model.agent import Exchange, ModelAgent
from pmem.memory.model.wants import Wants

#: So many answers a question that waits may be behind; few lanes ever wait.
MAX_LATE = 64
#: Trajectories of which is known when the model was asked last; to have forgotten one costs a call.
MAX_WANTS = 64
#: Of two questions that wait, the trigger that tells more is kept.
_RANK = (
    *(Trigger.INTERVAL, Trigger.FIRST_STEP, Trigger.REPEAT, Trigger.FAILURE),
    *(Trigger.FINISH, Trigger.USER_MESSAGE, Trigger.COMPACTION),
)


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model came to. `asked_at` is the number of the newest step it saw, `attempts` how
    often the commands of its entries had passed by then, `seconds` what it took."""

    lane: str | None
    trigger: Trigger
    asked_at: int
    ops: Sequence[BankOp]
    decision: Decision
    exchanges: Sequence[Exchange] = ()
    seconds: float = 0.0
    passed: frozenset[str] = frozenset()
    error: str = ""


class Mind:
    """Runs a model's memory agent in a thread. All methods belong to the loop's thread.

    `sync` says that the agent's answer waits for the decision, `timeout` seconds at most.
    `stopped` is the reason why the model is asked no more, "" while it is.
    """

    def __init__(self, agent: ModelAgent, *, sync: bool = False, timeout: float = 60.0) -> None:
        self.agent = agent
        self.sync = sync
        self.timeout = timeout
        self.stopped = ""
        #: What was learned of when a call is worth it; it can only save some.
        self.gate = Gate()
        self._wants: dict[str | None, Wants] = {}
        #: Each with how many answers had been collected when it was asked.
        self._waiting: OrderedDict[str | None, tuple[Moment, int]] = OrderedDict()
        self._busy: set[str | None] = set()
        self._done: list[Thought] = []
        self._answered = 0
        #: The operations of the latest answers.
        self._ops: deque[Sequence[BankOp]] = deque(maxlen=MAX_LATE)
        self._closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        """Can be read when there is a thought to collect."""
        return self._read

    @property
    def idle(self) -> bool:
        """Whether nothing is asked, waiting or uncollected."""
        with self._changed:
            return not self._waiting and not self._busy and not self._done

    def ask(self, lane: str | None, moment: Moment) -> bool:
        """Hand a moment over, if it is worth a call; True if it was."""
        if self.stopped or self._closed:
            return False
        known = self._wants.pop(lane, None)
        wants = self._wants[lane] = Wants() if known is None else known
        if len(self._wants) > MAX_WANTS:
            del self._wants[next(iter(self._wants))]
        if not self.agent.style.pure and not (self.gate.asks(moment) and wants.asks(moment)):
            return False
        with self._changed:
            older, _ = self._waiting.pop(lane, (None, 0))
            collected = self._answered - len(self._done)
            self._waiting[lane] = (snapshot(moment, older), collected)
            if self._thread is None:
                self._thread = threading.Thread(target=self._think, name="mind", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return True

    def wait(self, lane: str | None, given_up: Callable[[], bool] = lambda: False) -> bool:
        """Wait until what was asked for this trajectory is answered; False if time is up.

        `given_up` is looked at now and then: when it is true nobody waits any more.
        """
        end = time.monotonic() + self.timeout
        with self._changed:
            while lane in self._waiting or lane in self._busy:
                left = end - time.monotonic()
                if left <= 0 or self._closed or given_up():
                    return False
                self._changed.wait(min(left, 0.1))
        return True

    def collect(self) -> list[Thought]:
        """The thoughts that are ready."""
        with contextlib.suppress(OSError):
            while os.read(self._read, 512):
                pass
        with self._changed:
            ready, self._done = self._done, []
        return ready

    def stop(self, why: str) -> None:
        """Ask the model no more; what is in flight may still come."""
        self.stopped = self.stopped or why
        with self._changed:
            self._waiting.clear()

    def close(self, patience: float = 0.3) -> None:
        """End it: a call in flight is broken off, and waited for at most `patience` seconds."""
        self.stop("the session is over")
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.agent.close()
        if self._thread is not None:
            self._thread.join(patience)

    # -- the thread ---------------------------------------------------------------------------

    def _think(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                lane, (moment, collected) = self._waiting.popitem(last=False)
                self._busy.add(lane)
                late = list(self._ops)[max(0, len(self._ops) - self._answered + collected) :]
            for op in (op for ops in late for op in ops):
                with contextlib.suppress(ValueError):
                    moment.bank.apply(op)
            thought = think(self.agent, lane, moment, heard=self.sync)
            with self._changed:
                self._busy.discard(lane)
                self._done.append(thought)
                self._answered += 1
                self._ops.append(thought.ops)
                self._changed.notify_all()
            with contextlib.suppress(OSError):  # full: the reader has enough to wake up for
                os.write(self._write, b"!")


def think(agent: ModelAgent, lane: str | None, moment: Moment, *, heard: bool = True) -> Thought:
    """Both phases over a snapshot, whose bank takes the operations in between; never raises.

    Where nobody waits, what is said at the end of a turn is not `heard` before the user speaks
    again, so only phase 1 runs then.
    """
    began = time.monotonic()
    ops: list[BankOp] = []
    error = ""
    try:
        for op in agent.manage(moment):
            moment.bank.apply(op)
            ops.append(op)
        unheard = moment.trigger is Trigger.FINISH and not heard
        decision: Decision = (
            Silence("the turn is over, nobody would hear it") if unheard else agent.decide(moment)
        )
    except Exception:
        decision, error = (
            Silence("the memory agent failed; errors.log has it"),
            traceback.format_exc(),
        )
    if isinstance(decision, Silence):
        ops += decision.ops
    entries = decision.entries if isinstance(decision, Reminder) else ()
    passed = frozenset(
        e.id for e in map(moment.bank.get, entries) if e is not None and e.outcome == "succeeded"
    )
    return Thought(
        lane=lane,
        trigger=moment.trigger,
        asked_at=moment.last_step.number if moment.last_step else 0,
        ops=ops,
        decision=decision,
        exchanges=agent.drain(),
        seconds=time.monotonic() - began,
        passed=passed,
        error=error,
    )


def snapshot(moment: Moment, older: Moment | None = None) -> Moment:
    """The moment as another thread may read it while the session goes on."""
    trigger = moment.trigger
    if older is not None and _RANK.index(older.trigger) > _RANK.index(trigger):
        trigger = older.trigger
    return replace(
        moment,
        trigger=trigger,
        window=tuple(moment.window),
        bank=MemoryBank(moment.bank.status, moment.bank.entries.values()),
        history=History(),
        rules_files=tuple(moment.rules_files),
        user_messages=tuple(moment.user_messages),
        given=tuple(moment.given),
        watches=dict(moment.watches),
    )


def stale(thought: Thought, moment: Moment, window: int) -> str:
    """Why a reminder has come too late, "" if it has not."""
    now = moment.last_step.number if moment.last_step else 0
    if now - thought.asked_at >= window:
        return f"it came {now - thought.asked_at} steps late"
    if any(number > thought.asked_at for number, _ in moment.user_messages):
        return "the user has spoken since"
    assert isinstance(thought.decision, Reminder)
    for id in thought.decision.entries:
        entry = moment.bank.get(id)
        if entry is None:
            return f"its entry {id} is gone"
        if entry.outcome == "succeeded" and id not in thought.passed:
            return f"{entry.command or id} has passed since"
    return ""
