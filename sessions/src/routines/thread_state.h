// What each thread counts and which MPI routine it is in. The hot path: no lock, no atomic operation on shared lines.
#pragma once

#include <cstdint>

#include "base/declaration.h"
#include "routines/routine.h"

namespace imbrex::sessions {

/// Counts of one routine. Written by one thread only; read by others when a report is made.
struct routine_counts {
  std::uint64_t calls = 0;
  std::uint64_t checks = 0;          ///< buffers that a CUDA-aware MPI must check
  std::uint64_t bytes_sent = 0;      ///< of buffers that are read
  std::uint64_t bytes_received = 0;  ///< of buffers that are filled, as the call gives their size
  std::uint64_t queries = 0;         ///< pointer queries made in this routine, by the MPI or by inject
  std::uint64_t injected = 0;        ///< those of them made by inject
  std::uint64_t declared = 0;        ///< queries answered from declarations,
  std::uint64_t cached = 0;          ///< from what is known of a live allocation,
  std::uint64_t host = 0;            ///< and as memory that no driver allocated; the rest the driver answered
  std::uint64_t ticks = 0;           ///< time in the driver, of clock.h

  void add(const routine_counts& other);
  std::uint64_t elided() const { return declared + cached + host; }
  bool empty() const { return calls == 0 && queries == 0; }
};

constexpr int max_noted = 3;

/// A buffer of the call under way whose place was declared.
struct noted_buffer {
  const void* address;
  place where;
};

struct thread_state {
  unsigned depth = 0;  ///< how many wrapped routines are on this thread's stack; only the outermost is the program's
  const void* outermost = nullptr;  ///< the frame of that
  routine_id routine = no_routine;
  std::uint8_t num_noted = 0;
  noted_buffer noted[max_noted] = {};
  routine_counts* counts = nullptr;  ///< num_routines + 1 of them; made by counts_here()
};

extern constinit thread_local thread_state here __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// A wrapped routine begins, whose frame this is (__builtin_frame_address(0)): whether it is the outermost. Frames lie
/// below those that called them; one above the outermost has not been called from there, which was left without its
/// end, by `longjmp` or an exception out of an error handler.
[[gnu::always_inline]] inline bool enter(thread_state& t, const void* frame) {
  if (t.depth != 0) [[unlikely]] {
    if (frame < t.outermost) {
      ++t.depth;
      return false;
    }
    t.num_noted = 0;
  }
  t.depth = 1;
  t.outermost = frame;
  return true;
}

/// Out of line: takes a block of counts for this thread, a new one or that of a thread which ended.
routine_counts* take_counts();

inline routine_counts& counts_here(routine_id id) {
  routine_counts* counts = here.counts;
  if (counts == nullptr) counts = take_counts();
  return counts[id];
}

/// The sum over all threads, for each routine and for no_routine: num_routines + 1 elements.
void sum_counts(routine_counts* sums);

}  // namespace imbrex::sessions
