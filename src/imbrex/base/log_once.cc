#include "imbrex/base/log_once.h"

#include <mutex>
#include <set>

#include "imbrex/base/log.h"

namespace imbrex {

void log_warning_once(const std::string& text) {
  static std::mutex one_at_a_time;
  static std::set<std::string> said;
  {
    const std::scoped_lock lock(one_at_a_time);
    if (!said.insert(text).second) return;
  }
  log_warning(text);
}

}  // namespace imbrex
