"""One module per kind of map; names in cgm_cli/blocks/registry.py."""
