#include "imbrex/hetero/coherence/file_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

/// Mappings begin at multiples of it: 4 KiB here, 64 KiB on some machines with ARM processors.
std::uint64_t page_bytes() {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return page;
}

/// File systems that know no files without a name get one that loses it at once.
int open_without_name(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = folder + "/imbrex-objects-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

file_memory::file_memory(std::string folder) : folder_(std::move(folder)), file_(open_without_name(folder_)) {
  if (file_ < 0) {
    throw config_error(
        fmt::format("--imbrex-task-disk={}: no file for objects can be made there: {}", folder_, std::strerror(errno)));
  }
}

file_memory::~file_memory() {
  for (const auto& [memory, b] : blocks_) munmap(const_cast<std::byte*>(memory), b.bytes);
  close(file_);
}

std::byte* file_memory::allocate(std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  const block b{take_range(whole), whole};
  const int refused = posix_fallocate(file_, static_cast<off_t>(b.offset), static_cast<off_t>(whole));
  void* const memory =
      refused == 0 ? mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(b.offset))
                   : MAP_FAILED;
  if (memory == MAP_FAILED) {
    const int why = refused != 0 ? refused : errno;
    give_range(b);
    throw out_of_memory(fmt::format("{} bytes of an object, beside {} others, in a file in {}: {}", bytes,
                                    bytes_in_use_, folder_, std::strerror(why)));
  }
  auto* const at = static_cast<std::byte*>(memory);
  blocks_.emplace(at, b);
  bytes_in_use_ += whole;
  return at;
}

void file_memory::free(std::byte* memory) {
  const auto at = blocks_.find(memory);
  const block b = at->second;
  blocks_.erase(at);
  munmap(memory, b.bytes);
  bytes_in_use_ -= b.bytes;
  give_range(b);
}

/// The first that is large enough.
std::uint64_t file_memory::take_range(std::uint64_t bytes) {
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    const auto [offset, size] = *at;
    if (size < bytes) continue;
    free_.erase(at);
    if (size > bytes) free_.emplace(offset + bytes, size - bytes);
    return offset;
  }
  return std::exchange(end_, end_ + bytes);
}

void file_memory::give_range(const block& b) {
  static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(b.offset),
                              static_cast<off_t>(b.bytes)));  // else the file stays as large as it was
  std::uint64_t begin = b.offset, end = b.offset + b.bytes;
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      free_.erase(before);
    }
  }
  free_.emplace(begin, end - begin);
}

}  // namespace imbrex
