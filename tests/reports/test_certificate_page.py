"""The page of `cgm certify --page`: what it says, that it holds all it shows, and what its pictures say in words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cgm_cli import certify
from cgm_cli.reports.certificate_page import certificate_page


def clusters(n, spread, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [0.0, 10.0, 5.0]])
    return centres[np.arange(n) % 3] + spread * rng.standard_normal((n, 3))


def test_of_clusters_that_are_told_apart_nothing_is_open():
    points = clusters(300, 0.5)
    found = certify(points, clusters=3)
    text = certificate_page(found, points, "points.csv <b>")
    assert found.how == "structure" and not found.left_out.any()
    (within,) = re.findall(r"within ([^ ]+) % of", found.sentence) or ["0"]
    assert f"{within} %</" in text, "rounded up, as in the sentence"
    assert found.sentence in text and "Nothing: every point is in the cluster" in text
    assert "points.csv &lt;b&gt;" in text
    assert "300 points in 3 clusters, by their first two principal components." in text


def test_what_is_left_open_is_told_cluster_by_cluster():
    points = clusters(3000, 1.7)
    found = certify(points, clusters=3, within=0.5)
    assert found.how == "structure" and found.left_out.any()
    text = certificate_page(found, points, "points.csv")
    assert f"{int(found.left_out.sum())} of 3000 points lie so near another cluster" in text
    assert "Those in a ring are left open" in text
    rows = re.findall(
        r'<tr><th scope="row">(\d)</th><td class="number">(\d+)</td>.*?<td class="number">(\d+)</td>', text
    )
    left = {int(label) - 1: (int(size), int(count)) for label, size, count in rows}
    for label in range(3):
        inside = found.labels == label
        assert left[label] == (int(inside.sum()), int(found.left_out[inside].sum()))


def test_the_gap_over_time_never_grows(tmp_path):
    points = np.random.default_rng(1).standard_normal((80, 2))
    found = certify(points, clusters=4, within=0.02, time=4)
    seconds, bounds = np.array(found.history).T
    assert (np.diff(seconds) >= 0.0).all() and (np.diff(bounds) > 0.0).all()
    assert bounds[-1] == pytest.approx(found.bound)
    text = certificate_page(found, points, "noise")
    assert f"within {found.within_percent:.3g} % after" in text or len(bounds) == 1
    assert "No single points are told apart here" in text or found.left_out is not None


def test_it_fetches_nothing_and_every_image_has_a_text():
    points = clusters(60, 0.5)
    text = certificate_page(certify(points, clusters=3), points, "points")
    assert "default-src 'none'" in text and "<script" not in text and "://" not in text
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)
    images = re.findall(r"<img[^>]*>", text)
    assert images and all('alt="' in tag and 'alt=""' not in tag for tag in images)


def test_the_command_writes_it(cgm, tmp_path):
    np.savetxt(tmp_path / "p.csv", clusters(60, 0.5), delimiter=",")
    page = tmp_path / "page.html"
    assert cgm("certify", tmp_path / "p.csv", "-k", "3", "--page", page)[0] == 0
    assert "best possible (certified)" in page.read_text()
    (tmp_path / "g.csv").write_text("from,to\na,b\nb,c\nc,a\nc,d\n")
    (tmp_path / "cut.csv").write_text("a,1\nb,2\nc,1\nd,2\n")
    assert cgm("certify", tmp_path / "g.csv", "--cut", tmp_path / "cut.csv", "--page", page)[0] == 0
    assert "4 nodes, 2 on the left and 2 on the right; 3 of 4 edges are cut." in page.read_text()
    page.write_text("mine")
    code, _, err = cgm("certify", tmp_path / "p.csv", "-k", "3", "--page", page)
    assert code == 2 and "was not written by" in err
