"""Results for people and files: sentences, tables, exports, the picture to share."""
