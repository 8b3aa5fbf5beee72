// One call of a wrapped MPI routine, from its beginning to its end on this thread's stack.
#pragma once

#include "base/buffer.h"
#include "base/settings.h"
#include "driver/driver_queries.h"
#include "driver/seen_buffer.h"
#include "routines/thread_state.h"
#include "staging/staging.h"

namespace imbrex::sessions {

/// The modes of a library that is not idle. Set before the first wrapper runs.
extern unsigned modes_in_use __attribute__((visibility("hidden")));

}  // namespace imbrex::sessions

namespace imbrex::sessions::IX_MPI {

/// Counts the call, notes what was declared of its buffers, checks and injects, as the modes say. Calls that an MPI
/// makes of itself while it serves one are not the program's, and pass.
class active_call {
 public:
  template <class... Buffers>
  [[gnu::always_inline]] active_call(routine_id id, where w, const Buffers&... buffers) : thread_(here) {
    if (!enter(thread_, __builtin_frame_address(0))) return;
    thread_.routine = id;
    const unsigned modes = modes_in_use;
    if ((modes & mode_stage) != 0) [[unlikely]] {
      before_staged_call();
      (refuse(id, buffers), ...);
    }
    if ((modes & mode_count) != 0) {
      routine_counts& counts = counts_here(id);
      ++counts.calls;
      (count(counts, buffers), ...);
    }
    if constexpr (sizeof...(Buffers) > 0) {
      if ((modes & mode_elide) != 0 && w.has_handle) {
        declaration said = declarations.find(w.handle);
        if (said.unsaid()) said = default_declaration;
        if (!said.empty()) (note(said, buffers, (modes & mode_verify) != 0), ...);
      }
      if ((modes & mode_verify) != 0) check_noted();
      if ((modes & mode_kinds) != 0) [[unlikely]]
        (see_buffer(id, w, buffers), ...);  // injects, too
      else if ((modes & mode_inject) != 0)
        (inject(buffers), ...);
    }
  }
  ~active_call() {
    if (--thread_.depth != 0) return;
    thread_.routine = no_routine;
    thread_.num_noted = 0;
  }
  active_call(const active_call&) = delete;
  active_call& operator=(const active_call&) = delete;

  /// Whether the program itself made this call, not its MPI.
  bool outermost() const { return thread_.depth == 1; }

 private:
  [[gnu::always_inline]] static void count(routine_counts& counts, const buffer& b) {
    if (!b.present()) return;
    ++counts.checks;
    const std::uint64_t bytes = bytes_of(b);
    counts.bytes_sent += b.sent ? bytes : 0;
    counts.bytes_received += b.received ? bytes : 0;
  }
  /// Whether it lies where was said is looked at (`elide-verify`), but of a buffer without bytes, which may lie
  /// anywhere.
  [[gnu::always_inline]] void note(const declaration& said, const buffer& b, bool is_looked_at) {
    const place where = b.sent ? said.sent : said.received;
    const bool unsure = b.sent && b.received && said.sent != said.received;
    if (!b.present() || where == place::unknown || unsure) return;
    if (is_looked_at && bytes_of(b) == 0) [[unlikely]]
      return;
    thread_.noted[thread_.num_noted++] = {b.address, where};
  }
  static void refuse(routine_id id, const buffer& b) {
    if (b.present()) refuse_device_buffer(id, b.address);
  }
  static void inject(const buffer& b) {
    if (b.present()) inject_query(b.address);
  }

  thread_state& thread_;
};

}  // namespace imbrex::sessions::IX_MPI
