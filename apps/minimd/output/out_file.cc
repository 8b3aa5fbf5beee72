#include "output/out_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "imbrex/base/error.h"

namespace md {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& path, int reason) {
  throw imbrex::config_error("cannot write " + path + ": " + std::strerror(reason) +
                             "; give a path in a folder that exists and is writable");
}

}  // namespace

out_file::out_file(const std::string& path, const std::string& written)
    : path_(path), written_(written), file_(std::fopen(written.c_str(), "wbe")) {
  if (!file_) refuse(path, errno);
  std::setvbuf(file_.get(), nullptr, _IOFBF, buffer_bytes);
}

out_file out_file::create(const std::string& path) { return {path, path}; }

out_file out_file::replace(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, EISDIR);
  return {path, path + ".part"};
}

out_file::~out_file() {
  if (written_ != path_) std::remove(written_.c_str());
}

void out_file::fail() const { throw imbrex::error("cannot write " + path_ + ": " + std::strerror(errno)); }

void out_file::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
}

void out_file::flush() {
  if (std::fflush(file_.get()) != 0) fail();
}

void out_file::close() {
  flush();
  if (std::fclose(file_.release()) != 0) fail();
  if (written_ != path_ && std::rename(written_.c_str(), path_.c_str()) != 0) fail();
  written_ = path_;
}

void write_file(const std::string& path, std::string_view bytes) {
  out_file file = out_file::replace(path);
  file.write(bytes);
  file.close();
}

}  // namespace md
