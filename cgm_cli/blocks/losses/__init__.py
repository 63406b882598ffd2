"""One module per kind of losse; names in cgm_cli/blocks/registry.py."""
