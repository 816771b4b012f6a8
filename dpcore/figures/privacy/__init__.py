"""What a promise means, as pictures."""
