#include "imbrex/fields/file_room.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

[[noreturn]] void no_room(const std::string& path, std::uint64_t bytes, const std::string& why) {
  throw usage_error(fmt::format("cannot write {} bytes to {}: {}", bytes, path, why));
}

class open_file {
 public:
  explicit open_file(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw usage_error(fmt::format("cannot write to {}: {}", path, text_of(errno)));
  }
  ~open_file() { ::close(fd_); }
  open_file(const open_file&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

std::uint64_t size_of(int fd) {
  struct stat s{};
  return ::fstat(fd, &s) == 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
}

}  // namespace

void reserve_room(int fd, const std::string& path, std::uint64_t bytes) {
  const std::uint64_t size = size_of(fd);
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size + bytes > limit.rlim_cur)
    no_room(path, bytes, fmt::format("files may have {} bytes (ulimit -f)", limit.rlim_cur));
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size), static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO) no_room(path, bytes, text_of(errno));
  struct statvfs disk{};
  if (::fstatvfs(fd, &disk) != 0) return;
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (bytes > free) no_room(path, bytes, fmt::format("{} bytes are free", free));
}

void reserve_room(const std::string& path, std::uint64_t bytes) { reserve_room(open_file(path), path, bytes); }

void give_back_room(int fd) {
  if (::ftruncate(fd, static_cast<off_t>(size_of(fd))) != 0) return;  // it stays reserved
}

}  // namespace imbrex
