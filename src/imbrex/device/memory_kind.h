#pragma once

#include <cstdint>

namespace imbrex {

/// Where bytes live, said once when they are allocated and never asked for again (Moraru et al. 2021).
enum class memory_kind {
  host,    ///< ordinary, pageable memory of the process
  pinned,  ///< host memory that devices reach directly
  device,  ///< memory of a GPU or other accelerator
};

/// As options and reports name it.
constexpr const char* to_string(memory_kind k) {
  switch (k) {
    case memory_kind::host: return "host";
    case memory_kind::pinned: return "pinned host";
    case memory_kind::device: return "device";
  }
  return "?";
}

}  // namespace imbrex
