"""The embedded memory agent: a ladder of small rules, right without a model."""

from pmem.memory.rules.agent import LADDER, Rules

__all__ = ["LADDER", "Rules"]
