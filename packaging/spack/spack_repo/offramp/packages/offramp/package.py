# Copyright 2026 Offramp contributors
#
# SPDX-License-Identifier: BSD-3-Clause

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Offramp(CMakePackage):
    """Offramp carries the communication of unmodified MPI programs over software models of offload hardware, and predicts the time
    there. One installation is for one MPI library: that of the programs."""

    # The source is the checkout that contains this recipe.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()
    homepage = git

    license("BSD-3-Clause")

    version("0.1.0", branch="main")

    variant("otf2", default=False, description="Read and write archives of the Open Trace Format 2")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type="build")

    # Open MPI with its internal headers: the openmpi of this repository has them.
    depends_on("mpi@3.1:")
    depends_on("openmpi@4.1:5", when="^[virtuals=mpi] openmpi")
    depends_on("mpich@4:", when="^[virtuals=mpi] mpich")
    depends_on("ucx@1.13:")
    depends_on("hwloc@2:")
    depends_on("elfutils")
    depends_on("expat@2.4:")
    depends_on("openssl@1.1:")
    depends_on("zlib-api")
    depends_on("fmt@9: +pic")
    depends_on("otf2@3:", when="+otf2")

    # Headers alone
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("tomlplusplus@3.3:", type="build")
    depends_on("xxhash@0.8:", type="build")

    # C++20; GCC 12 is the oldest that builds it.
    conflicts("%gcc@:11", msg="Offramp needs GCC 12 or later")
    conflicts("platform=darwin", msg="Offramp interposes through the ELF loader")
    conflicts("platform=windows", msg="Offramp interposes through the ELF loader")

    def cmake_args(self):
        return [
            self.define("OFFRAMP_TESTS", False),
            self.define("OFFRAMP_CCACHE", False),  # Spack has its own setting for it
            self.define_from_variant("OFFRAMP_OTF2", "otf2"),
            self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc),
            # Not another family that is installed on the machine.
            self.define("OFFRAMP_mpicc.openmpi", False),
            self.define("OFFRAMP_mpicc.mpich", False),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        self.test_info()

    def test_info(self):
        """the installed command finds its library and lists its backends"""
        offramp = which(self.prefix.bin.offramp)
        assert "zrlmpi" in offramp("info", output=str.split)

    def test_predict(self):
        """a model answers"""
        offramp = which(self.prefix.bin.offramp)
        assert "time_ps" in offramp("predict", "--backend", "zrlmpi", "allreduce", "--json", output=str.split)
