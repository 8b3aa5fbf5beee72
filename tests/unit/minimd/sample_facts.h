#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "output/run_facts.h"

namespace md {

/// A run whose numbers have no short decimal form where they could have one.
inline run_facts sample_facts() {
  run_facts f;
  f.what.cells = {2, 3, 4};
  f.what.steps = 200;
  f.what.dt = 0.1 + 0.2;
  f.implementation = "chares";
  f.device = "host";
  f.exchange = "entry methods";
  f.instruction_set = "avx2";
  f.ghost_newton = true;
  f.num_atoms = 96;
  f.num_chares = 12;
  f.decomposition = {3, 2, 2};
  f.num_ranks = 2;
  f.pes_per_rank = 3;
  f.box = {3.3592, 1.0 / 3, 1e-7};
  f.thermo = {{0, 1.44, -6.7733681, -5.0196704, 0}, {100, 2.0 / 3, -5.9, 1e-5, 0.5}, {200, 0.7, -5.7, 1e22, 1.25}};
  f.seconds = {1.6, 0.8, 0.4, 0.3, 0.1};
  f.command = "minimd --input \"in.lj\" # 2: C:\\x";
  return f;
}

/// While it lives no file grows beyond so many bytes: the disk is full.
class file_size_limit {
 public:
  explicit file_size_limit(rlim_t bytes) : was_handled_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &was_);
    const rlimit little{bytes, was_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  ~file_size_limit() {
    setrlimit(RLIMIT_FSIZE, &was_);
    (void)std::signal(SIGXFSZ, was_handled_);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;

 private:
  void (*was_handled_)(int);
  rlimit was_;
};

/// A folder that goes with the object.
class output_folder {
 public:
  output_folder() : path_(std::filesystem::temp_directory_path() / ("minimd_output_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~output_folder() { std::filesystem::remove_all(path_); }
  output_folder(const output_folder&) = delete;
  output_folder& operator=(const output_folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// A file of this name that takes no byte: the disk is full.
  std::string full_file(const std::string& name) const {
    std::filesystem::create_symlink("/dev/full", path_ / name);
    return file(name);
  }
  std::ptrdiff_t num_files() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(path_ / name, std::ios::binary).rdbuf();
    return all.str();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace md
