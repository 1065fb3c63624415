"""Chat models behind one protocol: anthropic, openai, command, scripted."""
