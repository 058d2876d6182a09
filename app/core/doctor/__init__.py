"""The doctor: explains why TensorFlow doesn't use a GPU, and how to fix it."""
