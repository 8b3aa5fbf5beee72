#include "imbrex/object/entry/shown_name.h"

#include <mutex>
#include <unordered_set>

namespace imbrex {

const char* kept_name(const std::string& text) {
  static std::mutex mutex;
  static auto* const all = new std::unordered_set<std::string>;  // what ends late still says them
  const std::lock_guard lock(mutex);
  return all->insert(text).first->c_str();
}

}  // namespace imbrex
