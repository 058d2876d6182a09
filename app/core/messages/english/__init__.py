"""The English catalogue: for each code its sentence, or two of them, for one and for several.

Sentences are short, active and plain, as in the best desktop apps. Units stand in the sentence; numbers come with
their formats.
"""

from app.core.messages.english import files, verdict

Sentence = str | tuple[str, str]
ENGLISH: dict[str, Sentence] = files.SENTENCES | verdict.SENTENCES
