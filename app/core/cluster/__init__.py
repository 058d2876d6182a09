"""Runs on several computers: who is there, whether they agree, and whether they are still there.

The computer with rank 0 is the host: it listens, and all others connect to it. The engines' own libraries exchange
everything else.
"""
