"""Reports as HTML pages."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "export.html": "Report to print or post",
    "html.bars": "{label} ({better})",
    "html.beside_others": "Beside others",
    "html.choose": "Choose some runs.",
    "html.clock": "Clock (GHz)",
    "html.conditions": "What another result must agree in",
    "html.date": "Date",
    "html.estimate": "Estimate",
    "html.estimate_title": "Estimate while it ran ({unit})",
    "html.hardware": "Hardware while it ran",
    "html.high": "Upper end of the 95 % interval",
    "html.low": "Lower end of the 95 % interval",
    "html.made_by": "Made by Epochmark {version}. This page needs no network and loads nothing.",
    "html.measured_on": "Measured on {date} with Epochmark {version}",
    "html.method": "How this is measured",
    "html.method_comparison": (
        "Results are compared only if workload, batch size, precision and examples per epoch agree. What else differs, such"
        " as the year of the software, stands beside each result."
    ),
    "html.method_interval": (
        "The 95 % interval comes from these times. A short run scales its steps to an epoch; a full one has the median of its"
        " epochs after the first, which prepares the engine."
    ),
    "html.method_steps": (
        "The network trains in a process of its own with Keras' own training loop, and the time of each step is recorded. A step"
        " ends when the device has finished it."
    ),
    "html.method_verdict": (
        "The verdict says whether the number can be trusted: other programs, battery, throttling, swapping, drift, lost steps"
        " and a loss that training couldn't have reached make it a caution, or invalid."
    ),
    "html.more_epochs": ("1 more epoch is in the result file.", "{count:,} more epochs are in the result file."),
    "html.none_published": "No published results for this workload.",
    "html.no_reasons": "Nothing disturbed this run.",
    "html.nothing": "There's no run for a report.",
    "html.power": "Power (W)",
    "html.published": "Published results, with their sources",
    "html.result_file": "Save the result file",
    "html.result_file_note": "Another Epochmark can import it, and shows it as imported, not verified.",
    "html.runs": "Runs in this report",
    "html.sources": "Sources: {sources:; }",
    "html.steps_per_s": "Steps per second",
    "html.temperature": "Temperature (°C)",
    "html.time": "Time (s)",
    "html.title": "Epochmark: {title}",
    "html.title_of_runs": "{count} runs",
    "html.too_many": "A report holds at most {limit} runs, not {count:,}.",
    "html.unlike": (
        "The result of 1 device isn't shown: it has another precision or batch size.",
        "The results of {count} devices aren't shown: they have another precision or batch size.",
    ),
    "html.use": "Use (%)",
    "html.validation_accuracy": "Validation accuracy",
    "html.validation_loss": "Validation loss",
    "html.while_it_ran": "While it ran",
}
