"""What holds whatever comes in: properties over payloads, files and rows of any shape."""
