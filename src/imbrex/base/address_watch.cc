#include "imbrex/base/address_watch.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "imbrex/base/log.h"

namespace imbrex::detail {

namespace {

constexpr std::size_t most_bytes = 4096;                         // of one array
constexpr std::uint64_t lowest = std::uint64_t{1} << 32;         // below, numbers are too common
constexpr std::uint64_t highest = (std::uint64_t{1} << 47) - 1;  // of a process

bool is_mapped(std::uint64_t address) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) ==
         0;  // NOLINT(performance-no-int-to-ptr)
}

bool first_of(const char* type) {
  static std::mutex mutex;
  static auto* const seen = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return seen->insert(type).second;
}

}  // namespace

void address_watch::look(const void* values, std::size_t bytes, std::size_t each, const char* type) {
  const std::size_t end = std::min(bytes, most_bytes);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= end; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(values) + at, sizeof word);
    if (word < lowest || word > highest || !is_mapped(word)) continue;
    if (!first_of(type)) return;
    return log_warning(fmt::format(
        "{} is copied to other ranks as bytes, and at byte {} has what is an address of this process ({:#x}): "
        "where ranks are processes it means nothing; give the type a serialize",
        type, at % each, word));
  }
}

}  // namespace imbrex::detail
