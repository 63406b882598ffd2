"""One module per kind of domain; names in cgm_cli/spec/registry.py."""
