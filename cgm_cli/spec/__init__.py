"""The spec: YAML text -> validated, resolved Spec. Imports no numerics."""
