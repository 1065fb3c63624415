"""A chat model as the memory agent: the paper's two phases."""

from pmem.memory.model.agent import ModelAgent
from pmem.memory.model.style import STYLES, Style

__all__ = ["STYLES", "ModelAgent", "Style"]
