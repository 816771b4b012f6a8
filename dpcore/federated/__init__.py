"""Sites on their own machines: a guard beside each site's rows, a hub nobody has to trust.

The guard is the boundary: it takes numbers and names, never code, adds its own exact noise, writes
down what that costs before it answers, and may refuse. The hub adds up what it is sent. What is on
the wire is in `docs/study.md`, so that a site can be written in another language.
"""
