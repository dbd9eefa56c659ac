"""``python -m omniclef.cli``, for where the program itself is not on the path."""

from omniclef.cli import main

main()
