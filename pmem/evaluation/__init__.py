"""Evaluation: the memory agent over recorded runs, measured against labels."""
