"""The pure core: steps, bank, decisions, watches, guard. No files, no clock, no network."""
