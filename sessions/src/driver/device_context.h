// The contexts that stage copies in, and what it keeps for each.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <vector>

#include "base/mutex_scope.h"
#include "base/settings.h"
#include "driver/driver.h"

namespace imbrex::sessions {

constexpr int num_pinned_sizes = 48;

struct device_context {
  void* handle = nullptr;
  std::uint64_t id = 0;  ///< by the driver, so that a later context at the same address is another one
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::vector<char*> free_pinned[num_pinned_sizes];  ///< by the logarithm of their size
};

/// Makes a context current on this thread for a scope.
class context_scope {
 public:
  explicit context_scope(const device_context* context);
  ~context_scope();
  context_scope(const context_scope&) = delete;
  context_scope& operator=(const context_scope&) = delete;
};

/// A function of the driver's that stage cannot do without.
template <class Function>
Function* needed_of_driver(const char* name) {
  auto* found = reinterpret_cast<Function*>(other_driver_function(name));
  if (found == nullptr) give_up("stage: the driver has no %s", name);
  return found;
}

inline void expect_success(int result, const char* what) {
  if (result != cuda_success) give_up("stage: %s failed with the driver's error %d", what, result);
}

}  // namespace imbrex::sessions
