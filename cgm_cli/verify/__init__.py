"""The claims of a run checked against what it saved, by formulas of their own.

Only the problem's parameters (data, radii, targets) are taken from the blocks. Maps are written out as matrices by
their definition, conjugates and projections have closed forms here, minima over spectral domains come from a full
decomposition, and sums are kept in extended precision. Each module has one table from the class of a block to its
formula; a block without an entry is reported as not checked, by name.
"""
