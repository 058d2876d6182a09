"""What is said of files, folders and settings."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "files.check_permissions": "Check what's in its place, and the folder's permissions.",
    "files.not_locked": "{path} can't be locked ({reason}).",
}
