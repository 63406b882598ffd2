"""One module per kind of loss; names in cgm_cli/spec/registry.py."""
