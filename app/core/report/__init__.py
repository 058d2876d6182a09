"""Presents results: sentences, tables, exports, and the picture to share."""
