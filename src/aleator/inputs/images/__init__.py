"""Images as they are: of different sizes, in files or in memory, with or without color."""
