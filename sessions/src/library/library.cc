// What happens when the library is loaded into a process, and when the process ends.
#include <atomic>

#include "base/settings.h"
#include "base/staging_counts.h"
#include "driver/driver_queries.h"
#include "driver/driver_watch.h"
#include "library/report.h"

namespace imbrex::sessions {

unsigned modes_in_use __attribute__((visibility("hidden"))) = 0;
std::atomic<std::uint64_t> staged_bytes_{0};

namespace {

__attribute__((constructor)) void loaded() {
  const settings& s = current_settings();
  modes_in_use = s.modes & ~mode_time;
  default_declaration = s.pattern;
  if (modes_in_use != 0) start_watching();
}

__attribute__((destructor)) void unloaded() { write_report_of_this_rank(); }

}  // namespace

}  // namespace imbrex::sessions
