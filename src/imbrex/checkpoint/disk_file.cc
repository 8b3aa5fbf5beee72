#include "imbrex/checkpoint/disk_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "imbrex/checkpoint/snapshot_error.h"

namespace imbrex {

namespace {

// More is refused or cut off by some systems.
constexpr std::size_t most_bytes_per_call = std::size_t{1} << 30;

std::span<const std::byte> up_to(std::span<const std::byte> bytes, std::size_t n) {
  return bytes.first(std::min(bytes.size(), n));
}

int open_or_throw(const std::string& path, int flags, const char* failed) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_system_fault(errno, path, failed);
  return descriptor;
}

}  // namespace

disk_file::disk_file(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

disk_file disk_file::open_for_reading(const std::string& path) {
  return {path, open_or_throw(path, O_RDONLY, "could not be opened")};
}

disk_file disk_file::create(const std::string& path) {
  return {path, open_or_throw(path, O_WRONLY | O_CREAT | O_TRUNC, "could not be created")};
}

disk_file::disk_file(disk_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(std::exchange(other.written_, 0)) {}

disk_file& disk_file::operator=(disk_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(written_, other.written_);
  return *this;
}

disk_file::~disk_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t disk_file::size() const {
  struct stat facts{};
  if (fstat(descriptor_, &facts) != 0) throw_system_fault(errno, path_, "could not be read");
  return static_cast<std::uint64_t>(facts.st_size);
}

void disk_file::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n =
        pread(descriptor_, to.data(), std::min(to.size(), most_bytes_per_call), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_system_fault(errno, path_, "could not be read");
    if (n == 0) {
      throw snapshot_error(snapshot_fault::torn, path_,
                           fmt::format("ends at {} bytes, {} before the end of what is read", offset, to.size()));
    }
    offset += static_cast<std::uint64_t>(n);
    to = to.subspan(static_cast<std::size_t>(n));
  }
}

void disk_file::write(std::span<const std::byte> bytes, std::span<const std::byte> more) {
  const std::uint64_t begin = written_;
  while (!bytes.empty() || !more.empty()) {
    const auto a = up_to(bytes, most_bytes_per_call);
    const auto b = up_to(more, a.size() < bytes.size() ? 0 : most_bytes_per_call - a.size());
    const std::array<iovec, 2> parts{iovec{const_cast<std::byte*>(a.data()), a.size()},
                                     iovec{const_cast<std::byte*>(b.data()), b.size()}};
    const ssize_t n = writev(descriptor_, parts.data(), parts.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_system_fault(errno, path_, "could not be written");
    const auto done = static_cast<std::size_t>(n);
    written_ += done;
    bytes = bytes.subspan(std::min(done, bytes.size()));
    more = more.subspan(done - std::min(done, a.size()));
  }
  // Else all of it would begin to go to the disk with the sync. Advice: where it fails, nothing is lost.
  sync_file_range(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(written_ - begin), SYNC_FILE_RANGE_WRITE);
}

void disk_file::sync() {
  while (fsync(descriptor_) != 0) {
    if (errno != EINTR) throw_system_fault(errno, path_, "could not be brought to the disk");
  }
}

void disk_file::close() {
  // Some file systems say only now that there is no room. Not tried again after EINTR: the descriptor is gone.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
    throw_system_fault(errno, path_, "could not be written");
  }
}

void sync_folder(const std::string& path) {
  const int descriptor = open_or_throw(path, O_RDONLY | O_DIRECTORY, "could not be opened");
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some file systems know no such thing for folders.
  if (error != 0 && error != EINVAL) throw_system_fault(error, path, "could not be brought to the disk");
}

}  // namespace imbrex
