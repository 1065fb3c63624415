"""`pmem train`: what recorded work teaches a memory agent."""

from __future__ import annotations

import click

from pmem.cli.train_export import export
from pmem.cli.train_gate import gate
from pmem.cli.train_grpo import grpo
from pmem.cli.train_sft import sft


@click.group(
    short_help="Learn from recorded work when to speak.", subcommand_metavar="COMMAND [ARGS]…"
)
def train() -> None:
    """Turn recorded work into data for a memory agent, into a model that was trained on it, or into
    a gate that keeps one quiet."""


train.add_command(export)
train.add_command(gate)
train.add_command(sft)
train.add_command(grpo)
