"""What an agent wrote, on its way to a terminal: hostile text everywhere, and nothing of it takes effect."""
