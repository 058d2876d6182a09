"""What is said of a run's number: its verdict, what limited it, what is to be known about it."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "run.not_summarised": "The measurements were kept, but summarizing them failed ({kind}).",
}
