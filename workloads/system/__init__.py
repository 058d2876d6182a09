"""Tests of the hardware itself: arithmetic, memory, storage."""
