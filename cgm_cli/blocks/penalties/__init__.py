"""One module per kind of penalty; names in cgm_cli/spec/registry.py."""
