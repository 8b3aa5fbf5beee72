#include "imbrex/checkpoint/crc32.h"

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

#if IMBREX_HAVE_LIBDEFLATE
#include <libdeflate.h>
#elif IMBREX_HAVE_ZLIB
#include <zlib.h>
#endif

namespace imbrex {

#if IMBREX_HAVE_LIBDEFLATE

// A null pointer would ask for the first value instead.
std::uint32_t crc32(std::uint32_t so_far, std::span<const std::byte> bytes) {
  return bytes.empty() ? so_far : libdeflate_crc32(so_far, bytes.data(), bytes.size());
}

const char* crc32_library() { return "libdeflate"; }

#elif IMBREX_HAVE_ZLIB

std::uint32_t crc32(std::uint32_t so_far, std::span<const std::byte> bytes) {
  if (bytes.empty()) return so_far;
  return static_cast<std::uint32_t>(::crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

const char* crc32_library() { return "zlib"; }

#else

std::uint32_t crc32(std::uint32_t, std::span<const std::byte>) {
  throw not_built(
      "checkpoints need libdeflate or zlib for their checksums, and this imbrex has neither "
      "(libdeflate: " IMBREX_NOTE_LIBDEFLATE "; zlib: " IMBREX_NOTE_ZLIB "): install libdeflate-dev and build again");
}

const char* crc32_library() { return "none"; }

#endif

}  // namespace imbrex
