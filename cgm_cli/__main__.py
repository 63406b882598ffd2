"""`python -m cgm_cli` is `cgm`."""

from cgm_cli.cli import main

main()
