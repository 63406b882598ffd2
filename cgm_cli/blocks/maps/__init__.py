"""One module per kind of map; names in cgm_cli/spec/registry.py."""
