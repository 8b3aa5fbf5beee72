#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "imbrex/base/error.h"

namespace md {

/// A folder of its own for a test's files, removed with them at the end.
class test_folder {
 public:
  test_folder() : path_(testing::TempDir() + "minimd_" + std::to_string(getpid()) + "_" + std::to_string(next()++)) {
    std::filesystem::create_directories(path_);
  }
  ~test_folder() { std::filesystem::remove_all(path_); }
  test_folder(const test_folder&) = delete;
  test_folder& operator=(const test_folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  static int& next() {
    static int number = 0;
    return number;
  }
  std::string path_;
};

/// `text` with the first `old` in it replaced.
inline std::string with(std::string text, const std::string& old, const std::string& replacement) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), replacement);
}

/// What the error that `action` throws says; "accepted" when it throws none.
template <class Error = imbrex::config_error, class Action>
std::string refusal_of(Action action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("\n"))) << "one line";
    return e.what();
  }
  return "accepted";
}

/// A funcfl file of `points` values in each table, mass 63.55, cutoff 4.95.
inline std::string small_funcfl(int points = 500) {
  std::string text = "Cu, made up\n 29 63.55 3.615 FCC\n " + std::to_string(points) + " 5e-4 " +
                     std::to_string(points) + " 1e-2 4.95\n";
  for (int i = 0; i < 3 * points; ++i) text += " " + std::to_string(0.5 * i) + (i % 5 == 4 ? "\n" : "");
  return text;
}

}  // namespace md
