"""The tiny client that an agent's hook runs; it imports almost nothing."""
