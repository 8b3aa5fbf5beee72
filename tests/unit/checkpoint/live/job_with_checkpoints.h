#pragma once

#include <imbrex/imbrex.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/checkpoint/checkpoint_folder.h"
#include "unit/object/job.h"

namespace imbrex_test {

/// A folder for checkpoints that goes with this object.
class folder_of_checkpoints {
 public:
  folder_of_checkpoints() {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() / fmt::format("imbrex_restart_{}_{}", getpid(), ++number)).string();
    std::filesystem::remove_all(path_);
  }
  ~folder_of_checkpoints() { std::filesystem::remove_all(path_); }
  folder_of_checkpoints(const folder_of_checkpoints&) = delete;
  folder_of_checkpoints& operator=(const folder_of_checkpoints&) = delete;

  const std::string& path() const { return path_; }
  std::string option() const { return "--imbrex-checkpoint=" + path_; }
  int num_checkpoints() const { return static_cast<int>(imbrex::checkpoint_numbers(path_).size()); }
  bool has_any() const { return num_checkpoints() > 0; }

 private:
  std::string path_;
};

template <class Program, class... Extra>
int run_program(const job_shape& s, std::vector<std::string> options, Extra... extra) {
  command_line line(s, std::move(options));
  return imbrex::run<Program>(line.count(), line.values(), extra...);
}

/// Runs a program that ends with exit code 9 and makes checkpoints, as often as it takes for one to be whole by then.
template <class Program, class... Extra>
void end_with_a_checkpoint(const job_shape& s, const folder_of_checkpoints& at, Extra... extra) {
  for (int attempt = 0; attempt < 100 && !at.has_any() && !testing::Test::HasFailure(); ++attempt)
    EXPECT_EQ((run_program<Program>(s, {at.option(), "--imbrex-checkpoint-every=1"}, extra...)), 9);
  ASSERT_TRUE(at.has_any());
}

}  // namespace imbrex_test
