"""Step policies: eta_k, how far iteration k goes towards the oracle's atom."""
