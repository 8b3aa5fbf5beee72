#include <fmt/format.h>
#include <imbrex/runtime/report.h>

#include "finding.h"

namespace doctor {

namespace {
/// What a program misses without it.
const char* use_of(const std::string& feature) {
  if (feature == "mpi") return "several processes";
  if (feature == "hwloc") return "the order of cores and GPUs of large machines";
  if (feature == "metis") return "the balancing strategy graph";
  if (feature == "cuda") return "NVIDIA GPUs";
  if (feature == "ucx") return "the transport ucx";
  if (feature == "opencl") return "devices of OpenCL";
  if (feature == "libdeflate" || feature == "zlib") return "fast checksums of checkpoints";
  if (feature == "isal") return "Reed-Solomon parity of checkpoints";
  if (feature == "toml") return "machines that are simulated";
  if (feature == "hdf5") return "fields in HDF5 files";
  if (feature == "adios2") return "fields in .bp files";
  return "part of imbrex";
}
}  // namespace

findings look_at_build() {
  findings all;
  const imbrex::build_facts build = imbrex::this_build();
  all.push_back(works("imbrex", fmt::format("{}, by {}", build.version, build.compiler)));
  if (!build.sanitizer.empty() && build.sanitizer != "none") {
    all.push_back(absent("speed", fmt::format("built with the {} sanitizer, for tests", build.sanitizer),
                         "cmake --preset default"));
  } else if (build.build_type == "Debug" || build.build_type.empty()) {
    all.push_back(absent(
        "speed",
        fmt::format("built without optimisation ({})", build.build_type.empty() ? "no build type" : build.build_type),
        "cmake --preset default"));
  }
  for (const imbrex::feature_facts& f : build.features) {
    all.push_back(
        f.present ? works(f.name, f.note)
                  : absent(f.name, fmt::format("{}; so there is no support of {}", f.note, use_of(f.name)), f.remedy));
  }
  return all;
}

}  // namespace doctor
