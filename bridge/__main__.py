"""``python -m openbuffer.bridge``: the same as the ``openbuffer`` command."""

from __future__ import annotations

import sys

from .launch import main

sys.exit(main())
