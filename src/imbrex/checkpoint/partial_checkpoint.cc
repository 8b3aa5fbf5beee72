#include "imbrex/checkpoint/partial_checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/checkpoint/checkpoint_folder.h"
#include "imbrex/checkpoint/disk_file.h"
#include "imbrex/checkpoint/rank_file.h"
#include "imbrex/checkpoint/snapshot_error.h"

namespace imbrex {

namespace {

namespace fs = std::filesystem;

std::string folder_above(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

[[noreturn]] void refuse_as_no_folder(const std::string& base) {
  throw snapshot_error(snapshot_fault::not_a_folder, base, "is not a folder, nor can one be made there",
                       "name another folder for checkpoints");
}

void create_base(const std::string& base) {
  std::error_code error;
  const bool is_new = fs::create_directories(base, error);
  if (error == std::errc::file_exists || error == std::errc::not_a_directory) refuse_as_no_folder(base);
  if (error) throw_system_fault(error.value(), base, "could not be created");
  if (is_new) sync_folder(folder_above(base));
}

// Some file systems say only then that nothing can be made there, whatever its folders' rights are.
void try_folder(const fs::path& trial, const std::string& base, const char* failed) {
  if (mkdir(trial.c_str(), 0777) == 0) {
    rmdir(trial.c_str());
  } else if (errno == ENOENT) {
    refuse_as_no_folder(base);
  } else if (errno != EEXIST) {
    throw_system_fault(errno, base, failed);
  }
}

// Each rank's, once.
void check_files(const std::string& folder, const snapshot_shape& shape, const std::vector<rank_file_facts>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].rank != static_cast<std::int32_t>(i)) {
      throw usage_error(
          fmt::format("the checkpoint {} has the file of rank {} where that of {} is expected: give each "
                      "rank's once",
                      folder, files[i].rank, i));
    }
  }
  if (files.size() != static_cast<std::size_t>(shape.num_ranks)) {
    throw usage_error(fmt::format("the checkpoint {} has the files of {} ranks where the job has {}: give each rank's",
                                  folder, files.size(), shape.num_ranks));
  }
}

// Seen from here: a folder of the same name on another machine's own disk is another one.
void check_files_are_here(const std::string& folder, const std::vector<rank_file_facts>& files) {
  for (const rank_file_facts& f : files) {
    try {
      const rank_file there(folder, f);
    } catch (const snapshot_error& e) {
      if (e.fault() != snapshot_fault::missing_file && e.fault() != snapshot_fault::torn) throw;
      throw snapshot_error(e.fault(), e.file(), e.complaint() + fmt::format(", though rank {} wrote it", f.rank),
                           "write checkpoints into a folder that all ranks' machines share");
    }
  }
}

}  // namespace

void check_checkpoint_base(const std::string& base) {
  fs::path there(base), missing;
  std::error_code error;
  while (!fs::exists(there, error)) {  // the nearest that is
    if (error == std::errc::not_a_directory) refuse_as_no_folder(base);
    if (error) throw_system_fault(error.value(), base, "could not be looked at");
    const fs::path above = there.parent_path();
    if (above == there) break;
    missing = there;
    there = above.empty() ? fs::path(".") : above;
  }
  if (!fs::is_directory(there, error)) refuse_as_no_folder(base);
  const char* const failed = missing.empty() ? "cannot be written into" : "could not be created";
  if (access(there.c_str(), W_OK | X_OK) != 0) throw_system_fault(errno, base, failed);
  try_folder(missing.empty() ? there / fmt::format(".trial.{}", getpid()) : missing, base, failed);
}

namespace {

void trim(std::string& base) {
  while (base.size() > 1 && base.back() == '/') base.pop_back();
}

/// -1: another job has it.
int open_locked(const std::string& base) {
  const int opened = open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) throw_system_fault(errno, base, "could not be opened");
  if (flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return opened;
  close(opened);
  return -1;
}

}  // namespace

folder_claim::folder_claim(std::string base) : base_(std::move(base)) { trim(base_); }

folder_claim::~folder_claim() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool folder_claim::take() {
  std::error_code ignored;
  if (descriptor_ >= 0 || base_.empty() || !fs::is_directory(base_, ignored)) return true;
  descriptor_ = open_locked(base_);
  return descriptor_ >= 0;
}

partial_checkpoint::partial_checkpoint(std::string base, folder_claim* claim) : base_(std::move(base)) {
  trim(base_);
  create_base(base_);
  lock(claim);
  try {
    remove_partial(base_);
    const std::vector<std::uint64_t> numbers = checkpoint_numbers(base_);
    number_ = numbers.empty() ? 1 : numbers.front() + 1;
    folder_ = partial_path(base_, number_);
    if (mkdir(folder_.c_str(), 0777) != 0) throw_system_fault(errno, folder_, "could not be created");
  } catch (...) {
    close(lock_);
    throw;
  }
}

partial_checkpoint::~partial_checkpoint() {
  if (!is_committed_) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  close(lock_);
}

void partial_checkpoint::lock(folder_claim* claim) {
  if (claim != nullptr && claim->base_ == base_) {
    if (claim->take()) lock_ = dup(claim->descriptor_);  // shares the lock
  } else {
    lock_ = open_locked(base_);
  }
  if (lock_ >= 0) return;
  throw snapshot_error(snapshot_fault::in_use, base_, "is being written into by another job",
                       "give each job a folder of its own for checkpoints");
}

std::string partial_checkpoint::commit(const snapshot_facts& facts, std::vector<rank_file_facts> files, int keep) {
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  check_files(folder_, facts.shape, files);
  check_files_are_here(folder_, files);
  write_manifest(folder_, {number_, std::time(nullptr), facts, std::move(files)});
  sync_folder(folder_);
  const std::string path = checkpoint_path(base_, number_);
  if (std::rename(folder_.c_str(), path.c_str()) != 0) throw_system_fault(errno, folder_, "could not be renamed");
  is_committed_ = true;
  sync_folder(base_);
  keep_last(base_, keep);
  return path;
}

}  // namespace imbrex
