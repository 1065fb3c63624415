"""The demonstration: a small broken project and a scripted agent that works in it."""
