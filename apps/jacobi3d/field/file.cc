#include "field/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "imbrex/base/error.h"

namespace jacobi {
namespace {

std::string reason() { return std::strerror(errno); }

[[noreturn]] void fail(const std::string& doing, const std::string& path, const std::string& why) {
  throw imbrex::error("cannot " + doing + " " + path + ": " + why);
}

}  // namespace

file file::open_for_reading(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw imbrex::usage_error("cannot read " + path + ": " + reason() + "; give a readable file");
  return file(path, descriptor);
}

file file::open_for_writing(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail("write", path, reason());
  return file(path, descriptor);
}

file file::create(const std::string& path, const std::string& wanted) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw imbrex::usage_error("cannot write " + wanted + ": " + reason() +
                              "; give a path in a folder that exists and is writable");
  return file(path, descriptor);
}

file::file(file&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

file& file::operator=(file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

file::~file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t file::size() const {
  struct stat status;
  if (fstat(descriptor_, &status) != 0) fail("look at", path_, reason());
  return static_cast<std::uint64_t>(status.st_size);
}

void file::read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  for (char* next = static_cast<char*>(to); bytes > 0;) {
    const ssize_t done = pread(descriptor_, next, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("read", path_, reason());
    if (done == 0) fail("read", path_, "it ends early");
    next += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::uint64_t>(done);
  }
}

void file::write_at(std::uint64_t offset, const void* from, std::uint64_t bytes) const {
  for (const char* next = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t done = pwrite(descriptor_, next, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write", path_, reason());
    next += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::uint64_t>(done);
  }
}

void file::reserve(std::uint64_t bytes) const {
  struct statvfs space;
  if (fstatvfs(descriptor_, &space) == 0 && space.f_blocks > 0) {
    const std::uint64_t room = std::uint64_t{space.f_bavail} * space.f_frsize;
    if (room < bytes)
      throw imbrex::usage_error("cannot write " + path_ + ": it needs " + std::to_string(bytes) +
                                " bytes and the file system has " + std::to_string(room) +
                                "; free some or write elsewhere");
  }
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
    throw imbrex::usage_error("cannot write " + path_ + ": " + reason() + "; give a path to a plain file");
}

void file::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) fail("write", path_, reason());
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail("rename " + from + " to", to, reason());
}

void remove_file(const std::string& path) noexcept { std::remove(path.c_str()); }

}  // namespace jacobi
