"""Teaching: steps of Algorithm 1, the adversary's test, classroom, quiz, stories and tutorials."""
