"""Arrays in a file: whatever part of one is stored, what comes back is the same to the bit, and lies as it lay."""

import h5py
import numpy as np
import pytest

from cgm_cli.runs.stored import StoredArray, read_array
from cgm_cli.runs.tree import checksum


def symmetric(n):
    a = np.random.default_rng(n).standard_normal((n, n))
    return a + a.T


def touched(i, j, value):
    a = symmetric(600)
    a[i, j] = value
    return a


def minus_zero():
    a = symmetric(600)
    a[3, 2], a[2, 3] = 0.0, -0.0
    return a


ARRAYS = {
    "symmetric": (symmetric(600), "half"),
    "symmetric, in Fortran order": (np.asfortranarray(symmetric(600)), "half"),
    "symmetric, an even number of slabs": (symmetric(512), "half"),
    "symmetric with a nan on the diagonal": (touched(5, 5, np.nan), "half"),
    "small and symmetric": (symmetric(20), "whole"),
    "one entry off, near the end": (touched(599, 598, 1e-300), "whole"),
    "one entry off, near the beginning": (touched(1, 0, 0.5), "whole"),
    "nan on one side": (touched(400, 3, np.nan), "whole"),
    "minus zero across from zero": (minus_zero(), "whole"),
    "a view": (symmetric(1200)[::2, ::2], "half"),
    "not square": (np.random.default_rng(0).standard_normal((300, 400)).T, "whole"),
    "single precision": (symmetric(600).astype(np.float32), "whole"),
    "complex": (symmetric(600) + 1j, "whole"),
    "zeros": (np.zeros((600, 600)), "nothing"),
    "zeros, one of them negative": (-np.zeros((600, 600)), "half"),
    "empty": (np.empty((0, 3)), "nothing"),
    "a number": (np.float64(0.1), "whole"),
    "booleans": (np.array([True, False]), "whole"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_comes_back_to_the_bit(name, tmp_path):
    array, part = ARRAYS[name]
    stored = StoredArray.of(array)
    assert stored.part == part
    with h5py.File(tmp_path / "a.h5", "w") as file:
        stored.write(file, "a")
        back = read_array(file["a"])
        held = file["a"].id.get_storage_size()
    assert (back.shape, back.dtype, back.tobytes("A")) == (array.shape, array.dtype, np.array(array).tobytes("A"))
    if array.size and array.flags.contiguous:
        assert back.flags.f_contiguous == array.flags.f_contiguous
    assert part != "half" or held <= 0.75 * array.nbytes  # (n + 256) / 2 n of it
    assert part != "nothing" or held == 0
    assert checksum({"a": back}) == checksum({"a": array})


@pytest.mark.parametrize("name", ARRAYS)
def test_any_other_bit_is_another_checksum(name):
    array = np.array(ARRAYS[name][0], order="K")
    if array.size == 0:
        return
    other = array.copy(order="K")
    other.reshape(-1, order="A").view(np.uint8)[-1] ^= 1
    assert checksum({"a": other}) != checksum({"a": array})
