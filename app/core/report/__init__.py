"""Results for people and files: sentences, tables, exports, the shared picture."""
