#include "output/out_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "imbrex/base/error.h"

namespace md {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& path, int reason) {
  throw imbrex::config_error("cannot write " + path + ": " + std::strerror(reason) +
                             "; give a path in a folder that exists and is writable");
}

}  // namespace

std::string lost_frames(const std::string& path) {
  return "the checkpoint was made when " + path +
         " had frames that are not there now: bring them back, restart without --dump, or start anew";
}

out_file::out_file(const std::string& path, std::FILE* file, std::int64_t bytes,
                   std::optional<apps::output_place> place)
    : path_(path), place_(std::move(place)), file_(file), bytes_(bytes) {
  if (!file_) refuse(path, errno);
  std::setvbuf(file_.get(), nullptr, _IOFBF, buffer_bytes);
}

out_file out_file::create(const std::string& path) { return {path, std::fopen(path.c_str(), "wbe"), 0}; }

out_file out_file::extend(const std::string& path, std::int64_t bytes) {
  std::error_code none;
  const auto there = std::filesystem::file_size(path, none);
  if (none || there < static_cast<std::uintmax_t>(bytes)) throw imbrex::config_error(lost_frames(path));
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(bytes), none);
  if (none) refuse(path, none.value());
  return {path, std::fopen(path.c_str(), "abe"), bytes};
}

out_file out_file::replace(const std::string& path) {
  apps::output_place place(path);
  std::FILE* const file = fdopen(place.open(), "wb");
  return {path, file, 0, std::move(place)};
}

void out_file::fail() const { throw imbrex::error("cannot write " + path_ + ": " + std::strerror(errno)); }

void out_file::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
  bytes_ += static_cast<std::int64_t>(bytes.size());
}

void out_file::flush() {
  if (std::fflush(file_.get()) != 0) fail();
}

void out_file::close() {
  flush();
  if (std::fclose(file_.release()) != 0) fail();
  if (place_) place_->commit();
}

}  // namespace md
