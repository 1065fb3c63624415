"""The files: bank.toml, session logs, settings, locks, archive."""
