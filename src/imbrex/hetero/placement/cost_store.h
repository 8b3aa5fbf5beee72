#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "imbrex/hetero/placement/cost_model.h"

namespace imbrex {

/// What tasks took, in a file: read once, the beginning of what each PE learns; what all have learnt is put together in
/// the end. `known` and `learnt` may be called by any thread.
class cost_store {
 public:
  /// Reads the file, if it is there. Throws `config_error` as `cost_model::read` does.
  explicit cost_store(std::string file);
  /// Throws `config_error` when the file could not be written in the end; leaves it as it is.
  void check_writable() const;

  /// What was in the file.
  const cost_model& known() const { return known_; }
  /// What somebody knows who has begun with that.
  void learnt(const cost_model& by_now);
  /// What has been learnt here since the file was read, as text: for the rank that writes.
  std::string news() const;
  /// Writes what was in the file with the news of all ranks: means by samples. Throws `config_error`.
  void write(const std::vector<std::string>& news_of_ranks) const;

 private:
  const std::string file_;
  cost_model known_;
  mutable std::mutex mutex_;
  cost_model news_;
};

}  // namespace imbrex
