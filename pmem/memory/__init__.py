"""The memory agents, behind one protocol."""
