"""The requests of the two phases: what stays the same stands first, what changes last.

System prompt, tools and task are the same bytes in every request of a session, so a provider
reads them from its cache; the second phase goes on in the first one's conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pmem.core.decision import Trigger
from pmem.core.moment import Moment
from pmem.memory.model import shown
from pmem.memory.model.relevance import chosen
from pmem.memory.model.style import PURE_TEMPERATURE, Style
from pmem.memory.model.tools import as_text, tools
from pmem.models.protocol import Message, Reply, Request, ToolResult, Trouble

_WHY = {
    Trigger.FIRST_STEP: "the work begins",
    Trigger.INTERVAL: "some steps have passed",
    Trigger.FAILURE: "the last step failed",
    Trigger.REPEAT: "a command ran again",
    Trigger.USER_MESSAGE: "the user has spoken",
    Trigger.COMPACTION: "the agent's context is about to be compacted",
    Trigger.FINISH: "the agent ends its turn",
}


class Prompts:
    """Makes the requests of one session for one style.

    `native_tools` says whether the model takes tools as such; it may turn out that it does not.
    `redact` takes secrets out of what is sent, `max_task` is the characters of the task that are.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        style: Style,
        *,
        native_tools: bool,
        timeout: float,
        redact: Callable[[str], str] = str,
        max_task: int = shown.MAX_TASK,
    ) -> None:
        self.texts = texts
        self.style = style
        self.native_tools = native_tools
        self.timeout = timeout
        self.redact = redact
        self.max_task = max_task
        self._offered = tools(pure=style.pure)
        self._temperature = PURE_TEMPERATURE if style.pure else None

    def without(self, trouble: Trouble) -> bool:
        """Leave out from now on what a call was refused for; False if it was not sent."""
        if trouble is Trouble.NO_TOOLS and self.native_tools:
            self.native_tools = False
            return True
        if trouble is Trouble.NO_TEMPERATURE and self._temperature is not None:
            self._temperature = None
            return True
        return False

    def manage(self, moment: Moment) -> Request:
        """Phase 1: the tools, and what there is to keep."""
        compacts = moment.trigger is Trigger.COMPACTION and not self.style.pure
        asked = self.texts["compaction" if compacts else "manage"]
        if self.style.pure:
            asked = "Bring the bank up to date."
        system = self._with_tools(self.texts["pure_manage" if self.style.pure else "system"])
        return self._request(system, self._opening(moment, asked), "manage", tools=True)

    def decide(
        self, moment: Moment, before: Request | None, reply: Reply, results: Sequence[ToolResult]
    ) -> Request:
        """Phase 2, in the conversation of phase 1 where there was one."""
        if self.style.pure:
            asked = "Does the agent need context before its next action?"
            return self._request(
                self.texts["pure_decide"], self._opening(moment, asked), "decide", tools=False
            )
        asked = self.texts["decide" if self.style.may_be_silent else "always"]
        if not self.style.manages:
            talk = self._opening(moment, "Decide now.")
            return self._request(self.texts["advisor"], talk, "decide", tools=False)
        if before is None:
            talk = self._opening(moment, asked)
            return self._request(self._with_tools(self.texts["system"]), talk, "decide", tools=True)
        native = reply.calls and self.native_tools
        said = Message(
            "assistant",
            reply.text or ("" if native else "(no call)"),
            reply.calls if native else (),
        )
        answered = Message("user", asked, results=tuple(results))
        return self._request(
            before.system, (*before.messages, said, answered), "decide", tools=True
        )

    def _opening(self, moment: Moment, asked: str) -> tuple[Message, ...]:
        return (
            Message("user", self.redact(shown.task(moment, self.max_task)), cached=True),
            Message(
                "user",
                f"{self.redact(self._news(moment))}\n\n{asked}",
                cached=not self.style.pure,
            ),
        )

    def _news(self, moment: Moment) -> str:
        parts = [shown.messages(moment)]
        if self.style.manages:
            entries, others = chosen(moment, pure=self.style.pure)
            parts.append(shown.bank(entries, others, moment))
        parts += [shown.given(moment.given, moment.window), shown.steps(moment.window)]
        if not self.style.pure:
            parts.append(f"You are asked because {_WHY.get(moment.trigger, 'it is time')}.")
        return "\n\n".join(part for part in parts if part)

    def _with_tools(self, system: str) -> str:
        if self.native_tools:
            return system
        return f"{system}\n\n{self.texts['tools']}\n{as_text(self._offered)}"

    def _request(
        self, system: str, messages: Sequence[Message], phase: str, *, tools: bool
    ) -> Request:
        return Request(
            system,
            tuple(messages),
            self._offered if tools and self.native_tools else (),
            phase=phase,
            timeout=self.timeout,
            temperature=self._temperature,
        )
