"""`python -m ghcm.cli`: the command line where the script `ghcm` is not on the path."""

from ghcm.cli.entry import main

main()
