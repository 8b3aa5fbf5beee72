# For Spack 0.23 and 1: see docs/packages.md.
import os

from spack.package import *

try:  # Spack 1 has its build systems beside its packages
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Imbrex(CMakePackage, CudaPackage):
    """Overdecomposed, asynchronous, message-driven tasks on CPU and GPU clusters: a C++20 runtime as a plain library."""

    # Nobody serves its archives: scripts/source-archive makes one of a checkout; or build the checkout, by spack dev-build.
    manual_download = True
    url = f"file://{os.getcwd()}/imbrex-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0")

    variant("shared", default=True, description="Shared libraries in place of static ones")
    variant("mpi", default=True, description="Transport over MPI, and libimbrex_sessions.so")
    variant("ucx", default=True, when="+mpi", description="Transport over UCX")
    variant("opencl", default=False, description="Devices by OpenCL")
    variant("hwloc", default=True, description="Processor topology by hwloc")
    variant("metis", default=False, description="Load balancing by graphs with METIS")
    variant("hdf5", default=False, description="Fields in HDF5 files")
    variant("adios2", default=False, description="Fields in files of ADIOS2")
    variant("libdeflate", default=True, description="Checksums of checkpoints by libdeflate")
    variant("isal", default=False, description="Reed-Solomon parity of checkpoints by ISA-L")
    variant("toml", default=False, description="Machines in virtual time in TOML; Spack 0.23 has no toml++")
    variant("applications", default=False, description="jacobi3d, minimd, pingpong, dgemm, uts and others")
    variant("python", default=False, description="The package of Python")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    generator("ninja")
    depends_on("pkgconfig", type="build")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("cli11@2.2:")
    depends_on("nlohmann-json@3.11:")
    depends_on("mpi@3.1:", when="+mpi")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("ucx+cuda", when="+ucx+cuda")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("opencl-headers", when="+opencl")
    depends_on("opencl-icd-loader", when="+opencl")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("metis@5:", when="+metis")
    depends_on("hdf5@1.10.2:", when="+hdf5")
    depends_on("adios2@2.8: ~mpi", when="+adios2")
    depends_on("libdeflate", when="+libdeflate")
    depends_on("isa-l", when="+isal")
    depends_on("tomlplusplus@3:", when="+toml")
    depends_on("openssl@1.1:", when="+applications")
    depends_on("openblas", when="+applications")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-nanobind@2.2:", type="build", when="+python")
    depends_on("py-numpy", type="run", when="+python")
    extends("python", when="+python")

    conflicts("+shared", when="+python", msg="the package of Python has libimbrex linked into it: imbrex +python ~shared")
    conflicts("%gcc@:11", msg="imbrex needs g++ 12 or newer, or clang 16 or newer")
    conflicts("%clang@:15", msg="imbrex needs clang 16 or newer, or g++ 12 or newer")

    @property
    def build_targets(self):
        targets = ["all"] if "+applications" in self.spec else ["imbrex_installed"]
        return targets + ["imbrex_python_stub"] if "+python" in self.spec else targets

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("IMBREX_BUILD_SESSIONS", "mpi"),
            self.define_from_variant("IMBREX_BUILD_PYTHON", "python"),
            self.define("IMBREX_BUILD_TESTS", False),
            self.define("IMBREX_BUILD_EXAMPLES", False),
            self.define("IMBREX_BUILD_BENCH", False),
            self.define("IMBREX_WITH_ZLIB", False),
            self.define_from_variant("IMBREX_WITH_OPENSSL", "applications"),
        ]
        for variant in ("mpi", "ucx", "cuda", "opencl", "hwloc", "metis", "hdf5", "adios2", "libdeflate", "isal", "toml"):
            args.append(self.define(f"IMBREX_WITH_{variant.upper()}", f"+{variant}" in self.spec))
        if "+cuda" in self.spec and not self.spec.satisfies("cuda_arch=none"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def install(self, spec, prefix):
        cmake = which("cmake")
        components = ["imbrex"] + (["applications"] if "+applications" in spec else [])
        for component in components:
            cmake("--install", self.build_directory, "--component", component)
        if "+python" in spec:
            cmake("--install", self.build_directory, "--component", "python", "--prefix", python_platlib)
