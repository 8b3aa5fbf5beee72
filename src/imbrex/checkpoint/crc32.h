#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace imbrex {

/// The CRC-32 of zlib and PNG, carried on: `so_far` is that of the bytes before, 0 at first. Any thread. Throws
/// `not_built` where this build has neither libdeflate nor zlib.
std::uint32_t crc32(std::uint32_t so_far, std::span<const std::byte> bytes);

/// "libdeflate", "zlib" or "none".
const char* crc32_library();

}  // namespace imbrex
