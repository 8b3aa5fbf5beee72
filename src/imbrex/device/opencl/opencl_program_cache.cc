#include "imbrex/device/opencl/opencl_program_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "imbrex/base/hash.h"
#include "imbrex/base/log.h"

namespace imbrex {

namespace {

constexpr std::string_view format_line = "imbrex OpenCL program 1\n";

void add(std::string& to, std::string_view text) {
  const std::uint64_t size = text.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to.append(text);
}

/// What stands in a file before its binary.
std::string head_of(const opencl_program_cache::program& p) {
  std::string head(format_line);
  for (const std::string* part : {&p.device, &p.driver, &p.options, &p.source}) add(head, *part);
  return head;
}

std::string_view as_text(const std::vector<unsigned char>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::filesystem::path opencl_program_cache::default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::filesystem::path(cache) / "imbrex" / "opencl";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "imbrex" / "opencl";
  return {};
}

std::filesystem::path opencl_program_cache::file_of(const program& p) const {
  const std::string head = head_of(p);
  return folder_ / fmt::format("{:016x}.bin", mix(hash_bytes(head)));
}

std::optional<std::vector<unsigned char>> opencl_program_cache::find(const program& p) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(p), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string head = head_of(p);
  std::uint64_t check = 0;
  if (!all.starts_with(head) || all.size() <= head.size() + sizeof check) return std::nullopt;
  const std::string_view binary = std::string_view(all).substr(head.size() + sizeof check);
  std::memcpy(&check, all.data() + head.size(), sizeof check);
  if (check != hash_bytes(binary)) return std::nullopt;
  return std::vector<unsigned char>(binary.begin(), binary.end());
}

void opencl_program_cache::keep(const program& p, const std::vector<unsigned char>& binary) const {
  if (folder_.empty() || binary.empty()) return;
  static std::atomic<unsigned> number{0};
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  const std::filesystem::path place = file_of(p);
  // Written aside and renamed: another process sees either nothing or all of it.
  const std::filesystem::path aside = place.string() + fmt::format(".{}.{}", getpid(), number++);
  {
    const std::uint64_t check = hash_bytes(as_text(binary));
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file << head_of(p);
    file.write(reinterpret_cast<const char*>(&check), sizeof check);
    file << as_text(binary);
    if (!file.flush()) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) std::filesystem::rename(aside, place, failed);
  if (!failed) return;
  std::error_code ignored;
  std::filesystem::remove(aside, ignored);
  log_debug(fmt::format("a compiled OpenCL program is not kept in {}: {}", place.string(), failed.message()));
}

}  // namespace imbrex
