#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "imbrex/base/hash.h"
#include "imbrex/base/ids.h"

namespace imbrex {

/// Names an element of a job, the same on every PE and wherever it is. A hash of its collection and of the bytes of its
/// index: two of a million elements share one in one of 37 million jobs.
inline std::uint64_t element_identity(collection_id c, std::span<const std::byte> index) {
  const std::string_view bytes(reinterpret_cast<const char*>(index.data()), index.size());
  return mix(hash_bytes(bytes) ^ mix(static_cast<std::uint64_t>(c.creator) << 32 | c.number));
}

}  // namespace imbrex
