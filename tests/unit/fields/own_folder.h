#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace imbrex_test {

/// A folder that is there as long as this object.
class own_folder {
 public:
  own_folder() {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() / fmt::format("imbrex_fields_{}_{}", getpid(), ++number)).string();
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~own_folder() { std::filesystem::remove_all(path_); }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace imbrex_test
