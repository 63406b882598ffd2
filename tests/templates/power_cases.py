"""Cases of MATPOWER for tests: a generator, a line and a load."""

from __future__ import annotations


def case_text(
    resistance: float = 0.0,
    reactance: float = 0.1,
    load: float = 50.0,
    most: float = 1.1,
    cost: str = "2\t0\t0\t2\t20\t0",
    limit: float = 0.0,
) -> str:
    """load: in MW, of a base of 100; cost: a row of `gencost`; limit: of the line, in MVA."""
    return f"""function mpc = two
%TWO  a comment, with [ a bracket
mpc.version = '2';
mpc.baseMVA = 100;
% buses
mpc.bus = [
\t1\t3\t0\t0\t0\t0\t1\t1\t0\t345\t1\t{most}\t0.9;
\t2\t1\t{load:g}\t0\t0\t0\t1\t1\t0\t345\t1\t{most}\t0.9;
];
mpc.gen = [
\t1\t0\t0\tInf\t-Inf\t1\t100\t1\t250\t0;
];
mpc.branch = [ 	1	2	{resistance:g}	{reactance:g}	0	{limit:g}	0	0	0	0	1 ];

% costs
mpc.gencost = [
\t{cost};
];
"""
