"""HTML from Jinja2 templates, which escape every value that they insert."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from pathlib import Path

from jinja2 import BaseLoader, Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup


def render(template: Path, **values: object) -> Markup:
    """Return a template file filled with values; values of type `Markup` are not escaped."""
    return Markup(_page(template).render(values))  # noqa: S704, the template escapes the values


def fill(fragment: str, **values: object) -> Markup:
    """Return a template, given as text, filled with values; see `render`."""
    return Markup(_fragment(fragment).render(values))  # noqa: S704, as in `render`


def data_uri(content: bytes, media_type: str = "image/png") -> str:
    """Return a file as the address of a picture that an HTML page contains.

    Templates have this function as a filter: ``{{ png | data_uri }}``.
    """
    return f"data:{media_type};base64,{b64encode(content).decode()}"


@cache
def _page(template: Path) -> Template:
    return _environment(FileSystemLoader(template.parent)).get_template(template.name)


@cache
def _fragment(fragment: str) -> Template:
    return _environment(None).from_string(fragment)


def _environment(loader: BaseLoader | None) -> Environment:
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["data_uri"] = data_uri
    return environment
