"""Hostile input: mutated specs, data files and run folders, each tried in a process of its own that may die or hang.

`python -m tests.fuzz --specs 20000 --files 2000 --seed 1` is the long form, and writes every failing case into a folder
that `python -m tests.fuzz --replay FOLDER` tries again; test_fuzz.py is the short form.
"""
