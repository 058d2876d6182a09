"""The doctor: why TensorFlow does not use a GPU, and what to do about it."""
