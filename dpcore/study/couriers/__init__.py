"""What carries requests to a guard and messages to a hub; nothing of it is trusted."""
