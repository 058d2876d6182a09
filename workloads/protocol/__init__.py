"""The protocol between the app and its workers."""
