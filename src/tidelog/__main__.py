"""`python -m tidelog` is the `tidelog` command, where the script is not on the path."""

import sys

from tidelog.cli.main import main

sys.exit(main())
