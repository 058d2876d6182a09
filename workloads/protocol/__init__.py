"""What passes between the app and a worker."""
