#pragma once

namespace imbrex {

/// How what lies on a GPU goes to the neighbours of a chare: directly, as fast as where they are allows (GPU-aware),
/// where they read it; host-staged, by way of pinned memory at both ends (the 2020 and 2022 papers' -D and -H); or
/// stored where they are: for those of the process on other GPUs `out` is memory of theirs, so that kernels write over
/// the link between the GPUs, which they do not wait for, and read what is near. That is as `device` for all others,
/// and where numbers are agreed upon.
enum class halo_path { device, host, store };

}  // namespace imbrex
