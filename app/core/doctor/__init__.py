"""The doctor: why TensorFlow doesn't use a GPU, and what to do about it."""
