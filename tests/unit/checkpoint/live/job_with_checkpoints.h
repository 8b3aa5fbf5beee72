#pragma once

#include <imbrex/imbrex.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
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

/// Whether a chare that is to end the job may do so now; else it lets others run and asks again. Set between jobs.
inline std::function<bool()> may_die = [] { return true; };

/// Runs a program that ends with exit code 9 once a checkpoint is whole, for which it asks `may_die`.
template <class Program, class... Extra>
void end_with_a_checkpoint(const job_shape& s, const folder_of_checkpoints& at, Extra... extra) {
  may_die = [&at] { return at.has_any(); };
  const int code = run_program<Program>(s, {at.option(), "--imbrex-checkpoint-every=1"}, extra...);
  may_die = [] { return true; };
  ASSERT_EQ(code, 9);
  ASSERT_TRUE(at.has_any());
}

}  // namespace imbrex_test
