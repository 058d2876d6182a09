"""Results for people and files: sentences, tables, exports, and the picture to share."""
