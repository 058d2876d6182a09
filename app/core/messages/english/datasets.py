"""Data sets: downloads, imports, installed files."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "dataset.choose_other_folder": "Choose another folder for data sets, then try again.",
    "dataset.delete_it_yourself": "Delete it yourself if you don't need anything in it.",
    "dataset.download_incomplete": "The download was interrupted after {done_bytes:,} of {size_bytes:,} bytes.",
    "dataset.download_interrupted": "The download of {address} was interrupted ({reason}).",
    "dataset.download_not_saved": "The download can't be saved to {path} ({reason}).",
    "dataset.files_missing": (
        "{files} of {title} is missing in {places}.",
        "{files} of {title} are missing in {places}.",
    ),
    "dataset.folder_has_strangers": "{folder} holds files that Epochmark didn't put there: {names}.",
    "dataset.folder_not_ours": "Epochmark didn't create {folder}: {problem}.",
    "dataset.folder_not_ours_kept": "Epochmark didn't create {folder}, so it was kept: {problem}.",
    "dataset.free_space_or_choose_folder": (
        "Free up some space, or choose another folder for data sets, then try again."
    ),
    "dataset.free_space_or_move_home": (
        "Free up some space, or set EPOCHMARK_HOME to another folder, then try again."
    ),
    "dataset.import_own_copy": "Import your own copy: `data import {dataset} FOLDER`, with {files} in the folder.",
    "dataset.in_the_way_of_download": "{path} is in the way of a download: it isn't a regular file.",
    "dataset.is_file": "it's a file",
    "dataset.is_link": "it's a link",
    "dataset.is_no_folder": "it isn't a folder",
    "dataset.its_files": "Its files are: {files}.",
    "dataset.known_datasets": "Choose one of: {datasets}.",
    "dataset.leftover_kept": "{folder}, left over from an installation, was kept because it also holds {names}.",
    "dataset.make_writable": "Make the folder writable, then try again.",
    "dataset.move_folder_away": "Move it away or choose another folder for data sets, then try again.",
    "dataset.move_home": "Set EPOCHMARK_HOME to another folder, then try again.",
    "dataset.move_it_away": "Move it away, then try again.",
    "dataset.move_strangers_away": "Move them away, then try again: the whole folder is replaced.",
    "dataset.name_all_files": "Name all its files, or the folder that holds them.",
    "dataset.names_and_more": "{names} and {more} more",
    "dataset.no_installation_note": "it holds {names} but no valid installation note",
    "dataset.not_a_regular_file": "{file} isn't the expected file: it isn't a regular file.",
    "dataset.not_a_web_address": "“{address}” isn't an http or https address.",
    "dataset.not_downloadable": "{title} can't be downloaded: its licence ({licence}) doesn't allow redistribution.",
    "dataset.not_installed": "{title} can't be installed in {folder} ({reason}).",
    "dataset.not_one_of_its_files": "{path} isn't one of the files of {title}.",
    "dataset.not_removed": "{title} can't be removed from {folder} ({reason}).",
    "dataset.refused": "{file} was refused: {reason}.",
    "dataset.server_redirects": ("The server refused {address} ({status} redirect to an unusable address)."),
    "dataset.server_refused": "The server refused {address} ({status} {reason}).",
    "dataset.server_sends_too_much": "The server sends more than the expected {size_bytes:,} bytes.",
    "dataset.server_sent_wrong_part": "The server sent the wrong part of {address}.",
    "dataset.try_again_from_start": "Try again: the download starts over.",
    "dataset.try_again_to_resume": "Check the connection and try again: the download resumes where it stopped.",
    "dataset.unknown_dataset": "There's no data set “{dataset}”.",
    "dataset.unreadable": "{path} can't be read ({reason}).",
    "dataset.unusable_address": "“{address}” isn't a usable address.",
    "dataset.use_official_file": "Use the official {file}.",
    "dataset.wrong_checksum": "{file} isn't the expected file: its SHA-256 is {found}…, not {expected}….",
    "dataset.wrong_size": (
        "{file} isn't the expected file: it has {found_bytes:,} bytes instead of {expected_bytes:,}."
    ),
}
