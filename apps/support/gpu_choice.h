#pragma once

#include <imbrex/object/halo/halo_path.h>

namespace apps {

/// How chares on GPUs share streams (2022 paper, III-C; 2020 paper, IV-B2): each chare one for computation and one of
/// high priority for communication; each chare one for every kind of work; five for each PE of a GPU.
enum class stream_design { chare, split, device };
/// How halos go between chares, or ranks, on GPUs.
using imbrex::halo_path;

/// The option's spelling on the command line.
constexpr const char* name(stream_design streams) {
  return streams == stream_design::chare ? "chare" : streams == stream_design::split ? "split" : "device";
}
constexpr const char* name(halo_path halos) { return halos == halo_path::host ? "host" : "device"; }

}  // namespace apps
