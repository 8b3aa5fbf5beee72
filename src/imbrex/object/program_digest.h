#pragma once

#include <cstdint>

namespace imbrex {

/// Numbers all that this program can send by name, and gives a digest of the names: the same on all ranks of the same
/// program. Before the first message; the same each time.
std::uint64_t program_digest();

}  // namespace imbrex
