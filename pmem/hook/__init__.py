"""The tiny client that an agent's hook runs, and the shell line that runs it."""
