"""Rows per site that a target needs: search and figure."""

from __future__ import annotations

from dpcore.figures.tradeoffs import harm_and_use, rows_needed, rows_needed_figure


def test_rows_needed_are_the_fewest_from_which_on_the_mean_reaches_the_target():
    means = {0.1: (0.2, 0.3, 0.4), 1.0: (0.8, 0.7, 0.9), 10.0: (0.8, 0.9, 0.9)}
    sizes, rows = (50, 100, 200), []
    for epsilon, at in means.items():
        for size, mean in zip(sizes, at, strict=True):
            rows += [
                {"epsilon": epsilon, "people_per_site": size, "energy_ratio": mean + shift}
                for shift in (-0.1, 0.1)
            ]
    # The smallest size at epsilon 1 reaches the target, but a larger one does not.
    sizes_needed = rows_needed(rows, 0.75, sizes, 2)
    assert sizes_needed == {0.1: None, 1.0: 200, 10.0: 50}
    # Without one run of the smallest size at 0.1.
    assert rows_needed(rows[1:], 0.75, sizes, 2) == {1.0: 200, 10.0: 50}
    figure = rows_needed_figure(
        {0.75: sizes_needed}, tuple(means), sizes, key="dpdis", many="pictures", dark=False
    )
    assert list(figure.data[0].x) == [1.0, 10.0] and list(figure.data[0].y) == [200, 50]
    assert figure.layout.yaxis.title.text == "pictures needed per site"


def test_an_epsilon_on_hover_has_no_trailing_zeros():
    """Plotly's format g writes 50.0000."""
    points = [{"epsilon": 50.0, "right": 100, "energy": 0.98}]
    figure = harm_and_use(points, most_right=75, target=0.9)
    templates = [trace.hovertemplate for trace in figure.data if trace.hovertemplate]
    assert templates and not any(":g}" in template for template in templates)
