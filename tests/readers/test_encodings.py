"""Texts of other encodings: recognised by their byte order marks, read as the spec says, or refused in words."""

import codecs

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.ratings import RatingsFile
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.fields import FileArray, GraphFile, TableArray
from cgm_cli.spec.load import loads

TEXT = "città;x\nForlì;1\nNîmes;2,5\n"


def cells(folder, raw, **options):
    (folder / "t.csv").write_bytes(raw)
    context = BuildContext((folder,))
    found = context.array(TableArray(file="t.csv", column="x", names="città", **options))
    assert context.row_names == ["Forlì", "Nîmes"]
    return found.tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_what_a_text_is_in(tmp_path, encoding):
    assert cells(tmp_path, TEXT.encode(encoding)) == [1.0, 2.5]


def test_the_other_order_of_bytes(tmp_path):
    assert cells(tmp_path, codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be")) == [1.0, 2.5]
    assert cells(tmp_path, codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be")) == [1.0, 2.5]


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16-le", "utf-16-be"])
def test_what_no_mark_says_the_spec_does(tmp_path, encoding):
    assert cells(tmp_path, TEXT.encode(encoding), encoding=encoding) == [1.0, 2.5]


@pytest.mark.parametrize(
    ("raw", "options", "message"),
    [
        (TEXT.encode("latin-1"), {}, "t.csv: line 1: byte 0xe0 is not UTF-8: say what a table is in, `encoding: win"),
        (TEXT.replace("città", "x").encode("latin-1"), {}, "t.csv: line 2: byte 0xec is not UTF-8"),
        (TEXT.encode("utf-16-le"), {}, "UTF-16 without a byte order mark: `encoding: utf-16-le`"),
        (TEXT.encode("utf-16-be"), {}, "UTF-16 without a byte order mark: `encoding: utf-16-be`"),
        (b"PK\3\4" + bytes(range(256)), {}, "not a text file"),
        (TEXT.encode("latin-1"), {"encoding": "ascii"}, "not a text in ascii: byte 4 has no meaning there"),
    ],
)
def test_refusals_say_what_would_be_right(tmp_path, raw, options, message):
    with pytest.raises(DataError) as caught:
        cells(tmp_path, raw, **options)
    assert message in caught.value.message


def test_edges_and_ratings(tmp_path):
    (tmp_path / "g.csv").write_bytes("from;to\nForlì;Nîmes\n".encode("latin-1"))
    context = BuildContext((tmp_path,))
    assert context.graph(GraphFile(file="g.csv", encoding="latin-1")).labels == ["Forlì", "Nîmes"]
    with pytest.raises(DataError, match="line 2: byte 0xec is not UTF-8"):
        context.graph(FileArray(file="g.csv"))
    (tmp_path / "g.col").write_text("p edge 2 1\ne 1 2\n")
    with pytest.raises(DataError, match="`encoding` is that of a list of edges"):
        context.graph(GraphFile(file="g.col", encoding="latin-1"))
    (tmp_path / "r.csv").write_bytes("Zoë,Amélie,5\n".encode("latin-1"))
    found = context.ratings(RatingsFile(file="r.csv", encoding="latin-1"))
    assert found.ids == (["Zoë"], ["Amélie"])
    np.testing.assert_array_equal(found.values, [5.0])


def test_an_encoding_that_there_is_not_is_refused_in_its_place():
    spec = "problem: {template: kmeans-sdp, clusters: 2, points: {file: t.csv, encoding: %s}}"
    with pytest.raises(SpecError, match="no text encoding that Python knows: utf-8"):
        loads(spec % "utf-9")
    with pytest.raises(SpecError, match="no text encoding"):
        loads(spec % "base64")
