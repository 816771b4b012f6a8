"""What is kept, against what is varied."""
