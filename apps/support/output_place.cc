#include "support/output_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "imbrex/base/error.h"

namespace apps {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;

/// The number of the descriptor of this process that `path` names, or -1.
int descriptor_of(const fs::path& path) {
  std::error_code none;
  const fs::path folder = fs::canonical(path.parent_path(), none);
  if (none || folder != fmt::format("/proc/{}/fd", getpid())) return -1;
  const std::string name = path.filename();
  int number = -1;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  return fault == std::errc() && end == name.data() + name.size() ? number : -1;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::string suffix_of_try(int number) {
  return number == 0 ? fmt::format(".{}.part", getpid()) : fmt::format(".{}.{}.part", getpid(), number);
}

/// Returns 0 or the reason.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

}  // namespace

output_place::output_place(const std::string& path) : path_(path), target_(path) {
  std::error_code ignored;
  fs::path at = path;
  for (int links = 0; (own_descriptor_ = descriptor_of(at)) < 0 && fs::is_symlink(at, ignored); ++links) {
    if (links == most_links) refuse(std::strerror(ELOOP));
    const fs::path next = fs::read_symlink(at, ignored);
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  target_ = at.string();
  if (own_descriptor_ >= 0) {
    is_plain_ = false;
    return;
  }
  const fs::file_status status = fs::status(at, ignored);
  if (fs::is_directory(status)) refuse("it is a folder");
  is_plain_ = !fs::exists(status) || fs::is_regular_file(status);
}

output_place::~output_place() {
  if (!beside_.empty()) std::remove(beside_.c_str());
}

output_place::output_place(output_place&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      beside_(std::exchange(other.beside_, {})),
      is_plain_(other.is_plain_),
      own_descriptor_(other.own_descriptor_) {}

void output_place::refuse(const std::string& why) const {
  throw imbrex::usage_error(
      fmt::format("cannot write {}: {}; give a path in a folder that exists and is writable", path_, why));
}

void output_place::check() const {
  if (is_plain_) {
    output_place trial(path_);
    ::close(trial.open());
  } else if (own_descriptor_ >= 0) {
    const int flags = fcntl(own_descriptor_, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) refuse(std::strerror(EBADF));
  } else if (access(target_.c_str(), W_OK) != 0) {
    refuse(std::strerror(errno));
  }
}

int output_place::open_beside() {
  for (int number = 0;; ++number) {
    const std::string name = target_ + suffix_of_try(number);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) beside_ = name;
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

int output_place::open() {
  int descriptor = -1;
  if (is_plain_) {
    descriptor = open_beside();
  } else if (own_descriptor_ >= 0) {
    std::fflush(nullptr);  // what was printed comes first
    descriptor = fcntl(own_descriptor_, F_DUPFD_CLOEXEC, 0);
  } else {
    descriptor = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (descriptor < 0) refuse(std::strerror(errno));
  return descriptor;
}

void output_place::commit() {
  if (beside_.empty()) return;
  if (std::rename(beside_.c_str(), target_.c_str()) != 0)
    throw imbrex::error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  beside_.clear();
}

void check_output(const std::string& path) {
  if (!path.empty()) output_place(path).check();
}

void check_outputs_differ(const std::vector<named_output>& all) {
  std::map<fs::path, const named_output*> known;
  for (const named_output& o : all) {
    if (o.path.empty()) continue;
    const output_place place(o.path);
    if (!place.is_plain()) continue;
    std::error_code none;
    const auto [there, is_new] = known.emplace(fs::weakly_canonical(fs::absolute(place.target(), none), none), &o);
    if (is_new) continue;
    throw imbrex::usage_error(fmt::format("{} {} and {} {} are one file: give {}", there->second->option,
                                          there->second->path, o.option, o.path,
                                          there->second->path == o.path ? "it once, or another name" : "two"));
  }
}

void write_output(const std::string& path, std::string_view text) {
  if (path.empty()) return;
  output_place place(path);
  const int descriptor = place.open();
  int reason = write_all(descriptor, text);
  if (::close(descriptor) != 0 && reason == 0) reason = errno;
  if (reason != 0) throw imbrex::error(fmt::format("cannot write {}: {}", path, std::strerror(reason)));
  place.commit();
}

std::string free_suffix(const std::vector<std::string>& paths) {
  for (int number = 0;; ++number) {
    const std::string suffix = suffix_of_try(number);
    if (std::ranges::none_of(paths, [&](const std::string& path) { return is_there(path + suffix); })) return suffix;
  }
}

}  // namespace apps
