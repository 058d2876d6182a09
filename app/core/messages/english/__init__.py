"""The English catalogue: one sentence per code, or two (singular and plural).

Sentences are short, active and plain, as in the best desktop apps. Units are part of the sentence; placeholders
for numbers include a format.
"""

from importlib import import_module

Sentence = str | tuple[str, str]
_AREAS = (
    *(
        "cli",
        "computers",
        "compare",
        "datasets",
        "doctor",
        "engines",
        "examples",
        "exchange",
        "explanations",
        "files",
    ),
    *(
        "hardware",
        "pages",
        "report",
        "results",
        "runs",
        "storage",
        "studies",
        "suite",
        "titles",
        "usage",
        "verdict",
    ),
    *("views", "window", "workloads"),
)
ENGLISH: dict[str, Sentence] = {
    code: said for area in _AREAS for code, said in import_module(f"{__name__}.{area}").SENTENCES.items()
}
