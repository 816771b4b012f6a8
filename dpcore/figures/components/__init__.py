"""Components and people as pictures."""
