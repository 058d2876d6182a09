"""The Compare page: shows the user's results next to published ones."""
