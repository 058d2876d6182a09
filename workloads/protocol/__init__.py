"""The protocol between app and worker."""
