"""The backends of a build in the order of its registry. Tests that visit all backends use this list instead of one of their own."""

import functools
import json
import os
import subprocess


@functools.cache
def backends(build):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OFFRAMP_")}
    told = subprocess.run([os.path.join(build, "bin/offramp"), "info", "--json"], env=environment, capture_output=True, text=True, check=True,
                          timeout=60)
    return [backend["name"] for backend in json.loads(told.stdout)["backends"]]
