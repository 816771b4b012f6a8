"""What private results cost whose people they are about."""
