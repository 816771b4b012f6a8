"""Before anything private is read: rows that a dictionary makes up, and what a release of such is.

A plan says what the same noise does to people who are not there. Whether the real table looks like
them, its release tells, and nothing before it may.
"""

from dpcore.releases.planning.look_alike import look_alike
from dpcore.releases.planning.plan import Plan, plan

__all__ = ["Plan", "look_alike", "plan"]
