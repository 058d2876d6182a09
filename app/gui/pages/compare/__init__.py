"""The Compare page, which shows the user's results next to published ones."""
