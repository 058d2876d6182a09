"""Files, folders and settings."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "files.check_permissions": "Check what's in its place, and the folder's permissions.",
    "files.free_space": "Free up some space, then try again.",
    "files.move_it_away": "Move it away, then try again.",
    "files.move_strangers_away": "Move them away, then try again: the whole folder is replaced.",
    "files.not_installed": "{title} can't be installed in {folder} ({reason}).",
    "files.not_locked": "{path} can't be locked ({reason}).",
    "files.not_regular": "not a regular file",
    "files.not_removed": "{title} can't be removed from {folder} ({reason}).",
    "files.unreadable": "{path} can't be read ({reason}).",
    "folders.choose_absolute_datasets": "Choose an absolute path in Settings.",
    "folders.choose_shorter": "Set EPOCHMARK_HOME to a folder with a shorter name.",
    "folders.choose_writable": "Set EPOCHMARK_HOME to a folder you can write to.",
    "folders.connect_datasets_drive": "Connect the drive it's on, or choose another folder in Settings.",
    "folders.current_is_gone": "EPOCHMARK_HOME is “{folder}”, but the current folder no longer exists ({reason}).",
    "folders.datasets_is_dangling": "The data set folder {folder} is a broken link.",
    "folders.datasets_is_file": "The data set folder {folder} is a file.",
    "folders.datasets_is_no_folder": "The data set folder {folder} isn't a folder.",
    "folders.datasets_missing": "The data set folder {folder} doesn't exist.",
    "folders.datasets_not_absolute": "The data set folder “{folder}” isn't an absolute path.",
    "folders.datasets_unusable": "The data set folder {folder} can't be used ({reason}).",
    "folders.file_in_place": "{folder} can't be used as a folder: there's a file in its place.",
    "folders.free_space": "Free up some space, or set EPOCHMARK_HOME to another folder.",
    "folders.home_unknown": "EPOCHMARK_HOME is “{folder}”, but your home folder is unknown.",
    "folders.link_in_place": "{folder} can't be used as a folder: it's a broken link.",
    "folders.move_away": "Move it away, or set EPOCHMARK_HOME to another folder.",
    "folders.name_too_long": (
        "The folder name {folder} is too long: the results file would have a path of {size_bytes:,} bytes, and the"
        " limit is {limit_bytes:,}."
    ),
    "folders.no_such_user": "EPOCHMARK_HOME is “{folder}”, but there's no such user.",
    "folders.not_absolute": "Epochmark's files would be in “{folder}”, which isn't an absolute path.",
    "folders.not_created": "The folder {folder} can't be created ({reason}).",
    "folders.set_absolute": "Set it to an absolute path.",
    "folders.set_home": "Set HOME too.",
    "folders.set_home_or_xdg": (
        "Set HOME (and XDG_DATA_HOME, XDG_CONFIG_HOME and XDG_CACHE_HOME, if you use them) to absolute paths, or"
        " EPOCHMARK_HOME to a folder of your choice."
    ),
    "settings.folder_not_utf8": (
        "The settings can't be saved because the name of the data set folder isn't valid UTF-8."
    ),
    "settings.invalid": (
        "The settings file isn't valid ({reason}). It was kept as {kept}, and the defaults are used."
    ),
    "settings.not_written": "The settings can't be saved to {path} ({reason}).",
    "settings.rename_folder": "Rename the folder, or choose another one.",
    "settings.unreadable": "The settings in {path} can't be read ({reason}). The defaults are used.",
}
