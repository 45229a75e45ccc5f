# Copyright 2026 Offramp contributors
#
# SPDX-License-Identifier: BSD-3-Clause

from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *


class Openmpi(BuiltinOpenmpi):
    """Spack's Open MPI, with its internal headers installed, which Offramp is compiled against."""

    def configure_args(self):
        return [*super().configure_args(), "--with-devel-headers"]
