"""A Qwen3 small enough for a test: random weights, a tokenizer trained on the rows it will see.

`python tiny_model.py ROWS.jsonl DIR`, in the environment of `trl_venv`; the same bytes each time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

VOCABULARY = 4096
ENDS = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TAGS = "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"


def make(rows: Path, folder: Path, *, hidden: int = 64, layers: int = 2, seed: int = 0) -> None:
    """Writes model, tokenizer and the chat template of Qwen3 (as TRL ships it) into a directory."""
    import torch
    import trl
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    with rows.open(encoding="utf-8") as lines:
        texts = [text for line in lines for text in _texts(json.loads(line))]
    bpe = Tokenizer(models.BPE())
    # Merges go over words: what stands in every prompt becomes few tokens, and a test is short.
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(ENDS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    # as in Qwen's own tokenizer: one token each, and no special ones, so that they are read back
    bpe.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in TAGS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=ENDS[2], pad_token=ENDS[0], model_max_length=32768
    )
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text("utf-8")
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=hidden // 4,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config.do_sample = False
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    yield json.dumps(row["tools"])
    for message in row.get("messages") or row["prompt"]:
        yield message["content"]
        for call in message.get("tool_calls", ()):
            yield json.dumps(call["function"])
            yield str(call["function"]["arguments"])


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
