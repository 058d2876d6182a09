"""What passes between app and worker."""
