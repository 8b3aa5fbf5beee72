#include "imbrex/hetero/graph/task_name.h"

#include <mutex>
#include <set>

namespace imbrex {

namespace {
/// Traces and what was learnt of costs refer to names until the very end.
const char* kept(const std::string& text) {
  static std::mutex mutex;
  static auto* const all = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return all->insert(text).first->c_str();
}
}  // namespace

task_name::task_name(const std::string& text) : text_(kept(text)) {}

}  // namespace imbrex
