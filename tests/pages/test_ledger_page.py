"""What was spent, from what a visitor has looked at."""

from __future__ import annotations


def total(at) -> str:
    return next(c.value for c in at.sidebar.caption if "Shown so far" in c.value)


def button(at, label: str):
    return next(b for b in at.button if b.label.startswith(label))


def test_nothing_shown_is_nothing_spent(open_page):
    at = open_page("learn/start")
    at.switch_page("pages/use/ledger.py").run()
    assert not at.exception


def test_looking_twice_is_paid_once_and_redrawing_again(open_page):
    at = open_page("explore/playground")
    first = total(at)
    assert "20 releases" in first
    assert total(at.run()) == first
    button(at, "Redraw noise").click().run()
    assert "40 releases" in total(at)


def test_other_directions_of_the_same_noise_are_free(open_page):
    at = open_page("explore/playground")
    first = total(at)
    at.slider(key="intermediate").set_value(30).run()
    assert total(at) == first


def test_the_page_shows_it_and_forgets_only_by_hand(open_page):
    at = open_page("explore/playground")
    at.switch_page("pages/explore/eigen_images.py").run()
    at.switch_page("pages/use/ledger.py").run()
    assert not at.exception
    said = "\n".join(m.value for m in at.markdown)
    assert "is what each person in" in said
    assert "The published preparation" in said
    table = at.dataframe[0].value
    assert (table["total_epsilon"].diff().dropna() >= 0).all()
    at.run()
    assert len(at.dataframe[0].value) == len(table)
    button(at, "Forget everything").click().run()
    assert not at.dataframe
    assert "Nothing private has been shown" in at.info[0].value
