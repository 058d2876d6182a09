"""Attacks with real files and processes; each prints how often it was tried and how often it failed.

    python -m tests.tools.attacks [KIND [COUNT [SEED]]]

Without a kind, all of them. The suite runs a few of each (tests/tools/attacks).
"""
