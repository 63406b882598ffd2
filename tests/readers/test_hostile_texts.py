"""Text formats of the field, damaged at random: what is read is what it should be, and all else a DataError."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.graphs import read_graph
from cgm_cli.readers.kinds import recognise
from cgm_cli.readers.programs import read_program
from cgm_cli.readers.svmlight import read_svmlight
from tests.readers.test_cbf import WHOLE
from tests.readers.test_graph_formats import SPELLINGS
from tests.readers.test_sdpa import PLAIN

WRONG = ["\0", "-", ".", "x", "9", " ", "\n", ",", "nan", "1e999", "é", "99999999999999999999", "#", '"']
TEXTS = {**SPELLINGS, "g.g6": "DQc\n", "p.cbf": WHOLE, "p.dat-s": PLAIN, "d.svm": "1 1:2 3:4\n-1 2:0.5 # x\n1\n"}


def damaged(text, rng):
    place = rng.randrange(len(text))
    return rng.choice(
        [text[:place], text[:place] + text[place + 1 :], text[:place] + rng.choice(WRONG) + text[place + 1 :]]
    )


def check(path):
    if path.suffix in (".cbf", ".dat-s"):
        program = read_program(path)
        assert program.matrices.shape == (program.right.size + 1, program.starts[-1])
        assert np.isfinite(program.matrices.data).all()
    elif path.suffix == ".svm":
        features, labels = read_svmlight(path, path.name)
        assert len(features) == len(labels)
        assert np.isfinite(features).all()
    else:
        graph = read_graph(path).adjacency
        assert (graph != graph.T).nnz == 0
        assert not graph.diagonal().any()
        assert np.isfinite(graph.data).all()


@pytest.mark.parametrize("name", TEXTS)
def test_damaged(tmp_path, name):
    rng, path = random.Random(1), tmp_path / name
    for _ in range(30):
        path.write_text(damaged(TEXTS[name], rng), encoding="utf-8")
        with suppress(DataError):
            check(path)
        with suppress(DataError):
            recognise(path)
