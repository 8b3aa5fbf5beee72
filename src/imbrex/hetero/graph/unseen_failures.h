#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

namespace imbrex {

/// Failures of tasks that nobody has been told of yet: what is left of them at the end of the job makes it fail. One
/// that was passed on to another task is seen when that one's is. For the domain's PE.
class unseen_failures {
 public:
  void add(const std::exception_ptr& e);
  /// A task fails by both: who sees the one has seen the other.
  void join(const std::exception_ptr& one, const std::exception_ptr& other);
  /// Somebody was told.
  void see(const std::exception_ptr& e);

  /// The one that happened first, which somebody sees now; there is one.
  std::exception_ptr see_first();
  std::uint64_t size() const { return of_.size(); }
  /// What they say, in the order in which they happened, at most `limit`, and how many more there are.
  std::vector<std::string> texts(std::size_t limit) const;

 private:
  struct entry {
    std::uint64_t number = 0;
    std::exception_ptr failure;
    std::vector<const void*> joined;
  };
  static const void* key_of(const std::exception_ptr& e);
  void see(const void* key);

  std::uint64_t last_number_ = 0;
  std::unordered_map<const void*, entry> of_;
};

/// The same failure of a task as an exception that the calling thread has for itself.
std::exception_ptr copy_of_failure(const std::exception_ptr& e);

}  // namespace imbrex
