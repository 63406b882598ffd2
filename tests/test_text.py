"""Text of others in messages of ours."""

import pytest

from cgm_cli.text import counted, did_you_mean


@pytest.mark.parametrize(
    ("given", "meant"),
    [("Hcgm", "hcgm"), ("CGM", "cgm"), ("CGAL", "cgal"), ("hcg", "hcgm"), ("Local_Descent", "local-descent")],
)
def test_a_name_that_differs_in_case_only_is_meant_before_any_other(given, meant):
    assert did_you_mean(given, ["auto", "cgm", "hcgm", "cgal", "local-descent"]) == f"did you mean `{meant}`?"


def test_keys_are_known_by_their_underscores():
    assert did_you_mean("Dual-Bound", ["duals", "dual_bound"]) == "did you mean `dual_bound`?"
    assert did_you_mean("banana", ["duals", "dual_bound"]) is None


@pytest.mark.parametrize(
    ("count", "noun", "told"),
    [
        (1, "cluster", "1 cluster"),
        (2, "cluster", "2 clusters"),
        (0, "entry", "0 entries"),
        (1, "entry", "1 entry"),
        (3, "class", "3 classes"),
    ],
)
def test_counts_meet_their_nouns(count, noun, told):
    assert counted(count, noun) == told
