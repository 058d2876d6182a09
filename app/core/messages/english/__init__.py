"""The English catalogue: for each code its sentence, or two of them, for one and for several.

Sentences are short, active and plain, as in the best desktop apps. Units stand in the sentence; numbers come with
their formats.
"""

from app.core.messages.english import (
    archives,
    cli,
    common,
    compare,
    datasets,
    doctor,
    explanations,
    files,
    hardware,
    pages,
    report,
    runs,
    storage,
    usage,
    verdict,
    views,
    window,
    workloads,
)

Sentence = str | tuple[str, str]
_AREAS = (
    archives,
    cli,
    common,
    compare,
    datasets,
    doctor,
    explanations,
    files,
    hardware,
    pages,
    report,
    runs,
    storage,
    usage,
    verdict,
    views,
    window,
    workloads,
)
ENGLISH: dict[str, Sentence] = {code: said for area in _AREAS for code, said in area.SENTENCES.items()}
