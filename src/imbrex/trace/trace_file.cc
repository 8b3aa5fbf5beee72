#include "imbrex/trace/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

namespace fs = std::filesystem;

std::string cannot_write(const std::string& path, const std::string& why) {
  return fmt::format("the trace file '{}' cannot be written ({}): name a file in a folder that exists and is writable",
                     path, why);
}

// A pipe or device is written to; a plain file is replaced.
bool is_special(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

}  // namespace

// Where the new file grows: beside what a link points to, so that the rename replaces the file and not the link.
struct trace_file::destination {
  std::string final_name, temporary_name;
  explicit destination(const std::string& path) : final_name(path) {
    std::error_code ignored;
    if (fs::is_symlink(path, ignored)) {
      const fs::path target = fs::weakly_canonical(path, ignored);
      if (!ignored) final_name = target.string();
    }
    temporary_name = is_special(final_name) ? final_name : fmt::format("{}.{}.tmp", final_name, getpid());
  }
  bool in_place() const { return final_name == temporary_name; }
};

trace_file::trace_file(const std::string& path) : path_(path), to_(std::make_unique<destination>(path)) {
  file_ = std::fopen(to_->temporary_name.c_str(), "w");
  if (file_ == nullptr) throw error(cannot_write(path, std::strerror(errno)));
  errno = 0;
  put("{\"traceEvents\":[\n");
}

trace_file::~trace_file() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!to_->in_place()) std::remove(to_->temporary_name.c_str());
}

void trace_file::put(std::string_view text) {
  good_ = good_ && std::fwrite(text.data(), 1, text.size(), file_) == text.size();
}

void trace_file::add(std::string_view fragment) {
  if (fragment.empty()) return;
  if (!std::exchange(is_first_, false)) put(",\n");
  put(fragment);
}

void trace_file::finish(int num_ranks, int num_recorded) {
  put(fmt::format(
      "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{{\"producer\":\"imbrex\",\"ranks\":{},\"recorded\":{}}}}}\n",
      num_ranks, num_recorded));
  good_ = std::fclose(std::exchange(file_, nullptr)) == 0 && good_;
  if (good_ && !to_->in_place()) good_ = std::rename(to_->temporary_name.c_str(), to_->final_name.c_str()) == 0;
  if (good_) return;
  const std::string why = std::strerror(errno);
  if (!to_->in_place()) std::remove(to_->temporary_name.c_str());
  throw error(cannot_write(path_, why));
}

void trace_file::check_writable(const std::string& path) {
  std::error_code ignored;
  if (path.empty()) throw config_error(cannot_write(path, "the name is empty"));
  if (fs::is_directory(path, ignored)) throw config_error(cannot_write(path, "it is a folder"));
  const destination to(path);
  const int flags = to.in_place() ? O_WRONLY | O_NONBLOCK : O_WRONLY | O_CREAT;
  const int descriptor = open(to.temporary_name.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0 && !(to.in_place() && errno == ENXIO)) {
    throw config_error(cannot_write(path, std::strerror(errno)));
  }
  if (descriptor >= 0) close(descriptor);
  if (!to.in_place()) std::remove(to.temporary_name.c_str());
}

}  // namespace imbrex
