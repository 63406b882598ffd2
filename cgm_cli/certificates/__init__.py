"""How far from the best possible is it? Proofs about a clustering, or a cut, that somebody has in hand."""
