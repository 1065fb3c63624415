"""An open-weight model and its tokenizer, ready to be trained as pmem's memory agent.

Its chat template must do three things: write calls so that pmem reads them, mark what the model
itself says (for a loss on nothing else), and keep a conversation's beginning as it was when the
conversation goes on. Templates that TRL knows are exchanged for its training variant; what was
trained is then saved with the model, so it serves with the very same one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.memory.model.parse import find_intervention, parse_tool_calls
from pmem.training.rows import offered

#: What a library of training would otherwise tell its makers, and draw on the screen.
QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}
#: Tokens of an answer that is waited for; recorded ones have some hundreds.
MAX_ANSWER = 1024
#: Where adapters lie in the directory of a trained model.
ADAPTER = "adapter"
_PROBE: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "type": "function",
                "function": {
                    "name": "memory_save_knowledge",
                    "arguments": {"id": "a", "content": 'an "ü"', "tags": ["x"]},
                },
            }
        ],
    },
    {"role": "tool", "name": "memory_save_knowledge", "content": "saved a"},
    {"role": "user", "content": "v"},
    {"role": "assistant", "content": '<context_for_action entries="a">b</context_for_action>'},
]


class NoTrainer(Exception):
    """The libraries of the extra `train` are not installed."""


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model of transformers (with adapters, where only those are trained) and its tokenizer."""

    model: Any
    tokenizer: Any


def libraries() -> tuple[Any, Any, Any]:
    """torch, transformers and TRL, quiet and without telemetry. Raises NoTrainer."""
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    try:
        import torch
        import transformers
        import trl
    except ImportError:
        raise NoTrainer from None
    return torch, transformers, trl


def load(
    name: str, *, template: Path | None = None, seed: int = 0, frozen: bool = False
) -> OpenModel:
    """The model of a directory, or of a name on a hub, with a template that can be trained.

    `template`: a Jinja file to use instead of the model's own. `frozen`: its weights stay as they
    are (only adapters learn, or none), so half the bits will do on a GPU. Raises NoTrainer, and
    ValueError with a sentence where there is no such model or its template will not do.
    """
    torch, transformers, _ = libraries()
    transformers.set_seed(seed)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        prepare(tokenizer, template)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            name, dtype=torch.bfloat16 if frozen and torch.cuda.is_available() else torch.float32
        )
    except (OSError, KeyError) as error:
        why = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(f"{name} cannot be loaded: {why[0]}") from None
    return OpenModel(model, tokenizer)


def prepare(tokenizer: Any, template: Path | None = None) -> None:
    """Give a tokenizer a chat template that can be trained. Raises ValueError as `load`."""
    from jinja2 import TemplateError
    from trl.chat_template_utils import add_response_schema, get_training_chat_template

    if template is not None:
        tokenizer.chat_template = template.read_text("utf-8")
    if not tokenizer.chat_template:
        raise ValueError("the model has no chat template; give one with --chat-template FILE")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    # Before the exchange: it knows the original templates only. Servers read it, and GRPO.
    with suppress(ValueError):
        add_response_schema(tokenizer)
    try:
        tokenizer.chat_template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    except (ValueError, TemplateError):
        raise ValueError(
            "the model's chat template does not mark what the assistant says, and is none that "
            "TRL knows; give one with {% generation %} by --chat-template FILE"
        ) from None
    try:
        why = _unfit(tokenizer)
    except TemplateError as error:
        why = f"takes no conversation with tools: {error}"
    if why:
        raise ValueError(f"the model's chat template {why}; give one by --chat-template FILE")


def encoded(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> tuple[list[int], list[int]]:
    """A conversation as tokens, and for each 1 where the model itself said it.

    What the model says is encoded by itself: when it serves, it goes on after the tokens of a
    prompt, and `<think>\\n` there is other tokens than `<think>\\n\\n` written at once.
    """
    text, spans = _rendered(tokenizer, messages)
    prompts = (
        len(_prompt(tokenizer, messages[:n]))
        for n, message in enumerate(messages)
        if message["role"] == "assistant"
    )
    ids: list[int] = []
    said: list[int] = []
    done = 0
    for (marked, end), prompt in zip(spans, prompts, strict=True):
        begin = max(marked, prompt)
        for piece, mine in ((text[done:begin], 0), (text[begin:end], 1)):
            made = tokenizer(piece, add_special_tokens=False)["input_ids"]
            ids += made
            said += [mine] * len(made)
        done = end
    rest = tokenizer(text[done:], add_special_tokens=False)["input_ids"]
    return ids + rest, said + [0] * len(rest)


def _rendered(
    tokenizer: Any, messages: Sequence[Mapping[str, Any]]
) -> tuple[str, list[tuple[int, int]]]:
    """A conversation as text, and where in it the model's own words stand."""
    from transformers.utils.chat_template_utils import render_jinja_template

    texts, spans = render_jinja_template(
        conversations=[as_template(messages)],
        tools=offered(),
        chat_template=tokenizer.get_chat_template(tools=offered()),
        return_assistant_tokens_mask=True,
        **tokenizer.special_tokens_map,
    )
    return texts[0], spans[0]


def _prompt(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> str:
    """A conversation as text, up to where the model's next answer begins."""
    made: str = tokenizer.apply_chat_template(
        as_template(messages), tools=offered(), add_generation_prompt=True, tokenize=False
    )
    return made


def asked(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """A conversation as tokens, up to where the model's next answer begins."""
    made = tokenizer.apply_chat_template(
        as_template(messages), tools=offered(), add_generation_prompt=True, return_dict=True
    )
    return list(made["input_ids"])


def answers(
    open_model: OpenModel, *, most: int = MAX_ANSWER
) -> Callable[[Sequence[Sequence[Mapping[str, Any]]]], list[str]]:
    """What answers some conversations together: the likeliest words of the model, at most `most`
    tokens each."""
    import torch

    model, tokenizer = open_model.model, open_model.tokenizer
    ends = model.generation_config.eos_token_id
    stops = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}

    def answer(talks: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
        prompts = [asked(tokenizer, talk) for talk in talks]
        wide = max(map(len, prompts))
        pads = [wide - len(prompt) for prompt in prompts]
        ids = [[tokenizer.pad_token_id] * n + p for n, p in zip(pads, prompts, strict=True)]
        seen = [[0] * n + [1] * (wide - n) for n in pads]
        with torch.no_grad():
            made = model.generate(
                input_ids=torch.tensor(ids, device=model.device),
                attention_mask=torch.tensor(seen, device=model.device),
                max_new_tokens=most,
                do_sample=False,
                eos_token_id=sorted(stops),
                pad_token_id=tokenizer.pad_token_id,
            )
        said: list[str] = tokenizer.batch_decode(made[:, wide:], skip_special_tokens=True)
        return said

    model.eval()
    return answer


def adapters(rank: int) -> Any:
    """What of a model learns: adapters of a rank, None (all of it) for 0."""
    if not rank:
        return None
    import peft

    return peft.LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def keep(trainer: Any, open_model: OpenModel, out: Path) -> OpenModel:
    """The trained model, whole, written where a server finds it; adapters beside it too."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_and_unload"):
        model.save_pretrained(out / ADAPTER)
        model = model.merge_and_unload()
    model.config.use_cache = True
    model.save_pretrained(out)
    open_model.tokenizer.save_pretrained(out)
    return OpenModel(model, open_model.tokenizer)


def as_template(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages for a chat template: arguments of calls as objects, which all templates take."""
    return [
        {**m, "tool_calls": [_call(call) for call in m["tool_calls"]]}
        if m.get("tool_calls")
        else dict(m)
        for m in messages
    ]


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call["function"])
    if isinstance(function["arguments"], str):
        function["arguments"] = json.loads(function["arguments"])
    return {**call, "function": function}


def _unfit(tokenizer: Any) -> str:
    """Why a template will not do, "" if it will: tried on a conversation of both phases."""
    from trl.chat_template_utils import is_chat_template_stop_token_trained

    text, spans = _rendered(tokenizer, _PROBE)
    if len(spans) != 2:
        return "does not mark what the assistant says"
    if not is_chat_template_stop_token_trained(tokenizer):
        return "does not let the model learn where its answer ends"
    prompts = [_prompt(tokenizer, _PROBE[:n]) for n in (2, 5)]
    if not all(map(text.startswith, prompts)):
        return "changes what was said before when the conversation goes on"
    first, second = (
        text[max(begin, len(prompt)) : end]
        for (begin, end), prompt in zip(spans, prompts, strict=True)
    )
    wanted = _PROBE[2]["tool_calls"][0]["function"]
    calls = [{"name": c.name, "arguments": dict(c.arguments)} for c in parse_tool_calls(first)]
    if calls != [wanted]:
        return "writes calls as pmem does not read them"
    found = find_intervention(second)
    if found is None or (found.text, found.entries) != ("b", ("a",)):
        return "writes reminders as pmem does not read them"
    return ""
