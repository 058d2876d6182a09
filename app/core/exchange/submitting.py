"""Prepares a submission: the result file, and a text to paste. Nothing is sent."""

from dataclasses import dataclass

from app.core.exchange.community_build import reason_not_taken
from app.core.exchange.sharing import SharedResult
from app.core.messages import Message, message, sentence, text
from app.core.report.forum_texts import in_form
from app.core.result_file.canonical import decode, short_code


@dataclass(frozen=True, slots=True)
class Submission:
    """The parts of a submission.

    Attributes:
        text: Text to paste, in Markdown.
        doubts: Distinct reasons why a table would reject some of the results.
    """

    text: str
    doubts: tuple[Message, ...]


def submission(shared: SharedResult, file_name: str) -> Submission:
    """Return the submission of a result that can be saved in a file.

    Args:
        shared: The result without the excluded fields.
        file_name: Name of the result file, without its folder.
    """
    results = decode(shared.enclosed)
    codes = [short_code(result.digest or "") for result in results]
    head = sentence("submit.text", codes=codes, file=file_name, count=len(codes))
    reasons = (reason_not_taken(result) for result in results)
    doubts = {text(reason): message("submit.doubt", problem=reason) for reason in reasons if reason is not None}
    return Submission(f"{head}\n\n{in_form(shared.text, 'markdown')}", tuple(doubts.values()))
