"""Connects the computers of a run, checks that they agree, and detects when one is lost.

The computer with rank 0 is the host: it listens, and all others connect to it. The engines' own libraries exchange
everything else.
"""
