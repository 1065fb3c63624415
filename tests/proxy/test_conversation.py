"""Whose a request is, what is new in it, and where nothing may be said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wires import ANTHROPIC, CHAT, GEMINI, TASK, Spoken

from pmem.proxy.body import Body, read
from pmem.proxy.conversation import Conversations, Turn
from pmem.proxy.formats import wire_of
from pmem.proxy.typed import typed
from pmem.proxy.wire import Called, Words

SUMMARY = "This session is being continued from a previous conversation: the build failed."


def body_of(spoken: Spoken, items: list[Any], **about: Any) -> Body:
    wire = wire_of(spoken.path)
    assert wire is not None
    told = {**spoken.about, **about, spoken.array: items}
    body = read(wire, json.dumps({k: v for k, v in told.items() if v is not None}).encode())
    assert body is not None
    return body


def events(turn: Turn | None) -> list[tuple[str, str]]:
    """What a turn tells: each event with its text or its command."""
    assert turn is not None
    return [
        (one["event"], str(one.get("text") or one.get("given") or one.get("summary") or ""))
        for one in turn.news
    ]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_subagent_is_a_lane_of_its_own_and_the_agent_goes_on_in_its_own() -> None:
    conversations = Conversations()
    main = [ANTHROPIC.task(TASK), *ANTHROPIC.acts(1, "ls", "x")]
    assert conversations.turn(body_of(ANTHROPIC, main[:1])).lane.id is None  # type: ignore[union-attr]
    inner = conversations.turn(body_of(ANTHROPIC, [ANTHROPIC.task("look around")]))
    assert inner is not None and inner.lane.id is not None
    assert events(inner) == [("user", "look around")]
    later = conversations.turn(body_of(ANTHROPIC, main))
    assert later is not None and later.lane.id is None and len(later.news) == 2


def test_a_summary_is_asked_for_in_silence_and_what_goes_on_from_it_is_the_same_lane() -> None:
    conversations = Conversations()
    talk = [ANTHROPIC.task(TASK), *ANTHROPIC.acts(1, "ls", "x")]
    conversations.turn(body_of(ANTHROPIC, talk))
    asked = [*talk, user("Your task is to create a detailed summary of the conversation so far")]
    turn = conversations.turn(body_of(ANTHROPIC, asked))
    assert turn is not None and not turn.ours and turn.news == ()
    assert conversations.replied(turn, [Words("Summary")]) == []
    on = conversations.turn(body_of(ANTHROPIC, [user(SUMMARY)]))
    assert on is not None and on.lane.id is None and events(on) == [("compacted", SUMMARY)]
    first = [user(SUMMARY), *ANTHROPIC.acts(1, "ls", "x")]  # an id that was told before
    assert [e for e, _ in events(conversations.turn(body_of(ANTHROPIC, first)))] == [
        "proposed",
        "observed",
    ]


def test_a_compaction_that_keeps_the_first_words_is_one_too() -> None:
    """Codex keeps what the user said, and puts the summary behind it."""
    conversations = Conversations()
    talk = [CHAT.task(TASK), *CHAT.acts(1, "ls", "x")]
    conversations.turn(body_of(CHAT, talk))
    goes_on = user("Another language model started to solve this problem and left a summary")
    turn = conversations.turn(body_of(CHAT, [CHAT.task(TASK), goes_on]))
    assert [event for event, _ in events(turn)] == ["compacted"]


def test_a_resumed_conversation_is_told_as_past() -> None:
    past = [CHAT.task(TASK), *CHAT.acts(1, "make build", "x"), agent("It fails.")]
    turn = Conversations().turn(body_of(CHAT, [*past, user("go on")]))
    assert [event for event, _ in events(turn)] == ["resumed", "user"]
    assert turn is not None
    assert [one["event"] for one in turn.news[0]["past"]] == ["user", "proposed", "observed"]


def test_history_that_its_agent_wrote_anew_tells_nothing_twice() -> None:
    conversations = Conversations()
    talk = [CHAT.task(TASK), *CHAT.acts(1, "ls", "x"), *CHAT.acts(2, "cat a", "y")]
    conversations.turn(body_of(CHAT, talk))
    trimmed = [CHAT.task(f"{TASK}\n\n<system-reminder>12:00</system-reminder>"), *talk[3:]]
    turn = conversations.turn(body_of(CHAT, [*trimmed, *CHAT.acts(3, "make", "z")]))
    assert turn is not None and turn.lane.id is None
    assert [what for _, what in events(turn)] == ["{'command': 'make'}"] * 2


@pytest.mark.parametrize(
    ("spoken", "about"),
    [
        (ANTHROPIC, {"tools": None}),
        (ANTHROPIC, {"tools": []}),
        (CHAT, {"tools": None}),
        (CHAT, {"tools": None, "response_format": {"type": "json_schema"}}),
        (GEMINI, {"tools": None, "generationConfig": {"responseMimeType": "application/json"}}),
        (GEMINI, {"tools": [{"googleSearch": {}}]}),
    ],
)
def test_titles_routers_and_checks_are_no_turn(spoken: Spoken, about: dict[str, Any]) -> None:
    """The agent's own requests offer tools; one of them came before."""
    conversations = Conversations()
    talk = [spoken.task(TASK), *spoken.acts(1, "ls", "x")]
    conversations.turn(body_of(spoken, talk))
    assert conversations.turn(body_of(spoken, [*talk, spoken.task("next?")], **about)) is None


def test_a_title_that_is_asked_for_before_anything_is_no_turn() -> None:
    assert Conversations().turn(body_of(CHAT, [user("A title for: go")], tools=None)) is None


def test_a_title_is_no_turn_though_tools_are_offered() -> None:
    """Codex on its screen asks for one beside its first turn."""
    title = user("Generate a concise, single-line task title of at most 36 characters")
    conversations = Conversations()
    talk = [title, *CHAT.acts(1, "ls", "x")]
    assert conversations.turn(body_of(CHAT, talk)) is None
    turn = conversations.turn(body_of(CHAT, [CHAT.task(TASK)]))
    assert turn is not None and turn.lane.id is None


def test_a_reply_tells_what_is_about_to_run_and_its_result_does_not_tell_it_again() -> None:
    conversations = Conversations()
    turn = conversations.turn(body_of(CHAT, [CHAT.task(TASK)]))
    assert turn is not None
    told = conversations.replied(turn, [Words("So"), Called("call_1", "bash", {"command": "ls"})])
    assert [one["event"] for one in told] == ["proposed"]
    later = body_of(CHAT, [CHAT.task(TASK), *CHAT.acts(1, "ls", "x")])
    assert [event for event, _ in events(conversations.turn(later))] == ["observed"]
    done = conversations.replied(turn, [Words("Done.")])
    assert done == [{"event": "finished", "message": "Done."}]


def test_calls_without_ids_are_known_by_what_they_do() -> None:
    conversations = Conversations()
    turn = conversations.turn(body_of(GEMINI, [GEMINI.task(TASK)]))
    assert turn is not None
    call = Called("~made-up", "run_shell_command", {"command": "ls"})
    conversations.replied(turn, [call, call])
    talk = [GEMINI.task(TASK), *GEMINI.acts(1, "ls", "x")]
    assert [e for e, _ in events(conversations.turn(body_of(GEMINI, talk)))] == ["observed"]


# --- agents without tools ----------------------------------------------------------------------

AIDER = [
    {"role": "system", "content": "Act as an expert software developer."},
    user("Change get_factorial() to use math.factorial"),
    agent("```bash\nmake examples\n```"),
    user("I switched to a new code base. Please don't consider the above files."),
    agent("Ok."),
]
RULES = "\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block must use this format."
BLOCK = "Build it:\n\n```bash\nmake build\n```\n"


def aider(*items: dict[str, Any]) -> Body:
    return body_of(CHAT, [*AIDER, *items], tools=None)


def test_aider_s_commands_are_read_from_its_words_and_its_examples_are_not() -> None:
    conversations = Conversations()
    first = conversations.turn(aider(user("build it" + RULES)))
    assert events(first) == [("user", "build it")]
    assert first is not None
    proposed = conversations.replied(first, [Words(BLOCK)])
    assert [one["given"] for one in proposed] == [{"command": "make build"}]
    ran = [user("build it"), agent(BLOCK), user("Output from make build\nno db.h\n\n"), agent("Ok")]
    second = conversations.turn(aider(*ran, user("again" + RULES)))
    assert events(second) == [("observed", "{'command': 'make build'}"), ("user", "again")]
    assert second is not None and second.news[0]["output"] == "no db.h"
    third = conversations.turn(aider(*ran, user("again"), agent("Why?"), user("again" + RULES)))
    assert events(third) == [("user", "again")]


def test_a_failing_test_that_aider_tells_twice_is_one_step() -> None:
    told = "I ran this command:\n\nmake test\n\nAnd got this output:\n\n1 failed\n"
    conversations = Conversations()
    turn = conversations.turn(
        aider(user("fix it"), agent("Done."), user(told), agent("Ok."), user(told + RULES))
    )
    assert turn is not None and [e for e, _ in events(turn)] == ["resumed"]
    assert json.dumps(turn.news).count("1 failed") == 1
    assert "SEARCH/REPLACE" not in json.dumps(turn.news)


def test_aider_s_summary_and_commit_message_are_no_turns() -> None:
    conversations = Conversations()
    conversations.turn(aider(user("build it" + RULES)))
    commit = [{"role": "system", "content": "One-line commit messages."}, user("# diff")]
    assert conversations.turn(body_of(CHAT, commit, tools=None)) is None


@pytest.mark.parametrize(
    ("words", "result", "command"),
    [
        ("```mswea_bash_command\nls -l\n```", "<returncode>0</returncode>\n<output>\n</output>",
         "ls -l"),
        ('{"analysis": "", "commands": [{"keystrokes": "ls\\n", "duration": 1}]}',
         "New Terminal Output:\n$ ls\n", "ls"),
    ],
)  # fmt: skip
def test_other_agents_without_tools_are_read_too(words: str, result: str, command: str) -> None:
    talk = [user("list the files"), agent(words), user(result)]
    turn = Conversations().turn(body_of(CHAT, talk, tools=None))
    assert events(turn)[-1] == ("observed", str({"command": command}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fix it", "fix it"),
        ("<system-reminder>\nrules\n</system-reminder>\n\nfix it", "fix it"),
        ("fix it\n<system-reminder>x</system-reminder>", "fix it"),
        ("<environment_context>\n  <cwd>/p</cwd>\n</environment_context>", ""),
        ("<current_datetime>1</current_datetime>\nfix it", "fix it"),
        ("# AGENTS.md instructions for /p", ""),
        ("고쳐 줘" + RULES, "고쳐 줘"),
        ("", ""),
    ],
)
def test_only_what_the_user_typed_counts_as_typed(text: str, words: str) -> None:
    assert typed(text) == words
