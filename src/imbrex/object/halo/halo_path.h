#pragma once

namespace imbrex {

/// How what lies on a GPU goes to the neighbours of a chare: directly, as fast as where they are allows (GPU-aware); or
/// host-staged, by way of pinned memory at both ends (the 2020 and 2022 papers' -D and -H).
enum class halo_path { device, host };

}  // namespace imbrex
