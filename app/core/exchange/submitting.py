"""A result for those who collect results: its file, and the text to paste beside it. Nothing is sent from here."""

from dataclasses import dataclass

from app.core.exchange.community_build import reason_not_taken
from app.core.exchange.sharing import SharedResult
from app.core.messages import Message, message, sentence, text
from app.core.report.forum_texts import in_form
from app.core.result_file.canonical import decode, short_code


@dataclass(frozen=True, slots=True)
class Submission:
    """What is handed in.

    Attributes:
        text: To paste, in Markdown.
        doubts: Why a table wouldn't take a result of it, for each that it wouldn't.
    """

    text: str
    doubts: tuple[Message, ...]


def submission(shared: SharedResult, file_name: str) -> Submission:
    """Return what is handed in of a result that can be in a file.

    Args:
        shared: Without the fields that the user leaves out.
        file_name: Of the result file, without its folder.
    """
    results = decode(shared.enclosed)
    codes = [short_code(result.digest or "") for result in results]
    head = sentence("submit.text", codes=codes, file=file_name, count=len(codes))
    reasons = (reason_not_taken(result) for result in results)
    doubts = {text(reason): message("submit.doubt", problem=reason) for reason in reasons if reason is not None}
    return Submission(f"{head}\n\n{in_form(shared.text, 'markdown')}", tuple(doubts.values()))
