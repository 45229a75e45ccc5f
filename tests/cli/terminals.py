"""Pseudo-terminals, which machines without /dev/pts lack."""

import os
import pty
import unittest


def why_not():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        return f"there are no terminals: {error}"
    return ""


needs_terminals = unittest.skipIf(why_not(), why_not())
