"""`pmem train`: what recorded work teaches a memory agent."""

from __future__ import annotations

import click

from pmem.cli.train_export import export
from pmem.cli.train_gate import gate


@click.group(short_help="Learn from recorded work when to speak.")
def train() -> None:
    """Turn recorded work into data for a memory agent, or into a gate that keeps it quiet."""


train.add_command(export)
train.add_command(gate)
