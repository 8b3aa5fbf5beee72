#include "driver/seen_buffer.h"

#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/settings.h"
#include "driver/driver_queries.h"
#include "driver/kind_query.h"
#include "routines/buffer_usage.h"
#include "routines/thread_state.h"

namespace imbrex::sessions {
extern unsigned modes_in_use __attribute__((visibility("hidden")));
}

namespace imbrex::sessions::IX_MPI {

namespace {

/// Names that the program, or the MPI, gave; without one, by size and turn, which is the same on all ranks of a program
/// that makes its communicators everywhere in one order.
void write_communicator(std::uintptr_t handle, char* text, unsigned long size) {
  MPI_Comm comm{};
  std::memcpy(&comm, &handle, sizeof comm);
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0;
  if (mpi.Comm_get_name(comm, name, &length) == MPI_SUCCESS && name[0] != '\0') {
    std::snprintf(text, size, "%.*s", static_cast<int>(size) - 1, name);
    return;
  }
  static int num_unnamed = 0;
  int ranks = 0;
  mpi.Comm_size(comm, &ranks);
  std::snprintf(text, size, "communicator %d, of %d ranks", ++num_unnamed, ranks);
}

void write_windows(std::uintptr_t, char* text, unsigned long size) { std::snprintf(text, size, "windows"); }
void write_files(std::uintptr_t, char* text, unsigned long size) { std::snprintf(text, size, "files"); }
void write_none(std::uintptr_t, char* text, unsigned long size) { std::snprintf(text, size, "no communicator"); }

write_name writer_for(const where& w) {
  if (!w.has_handle) return &write_none;
  if (w.is_window) return &write_windows;
  return w.is_file ? &write_files : &write_communicator;
}

direction way_of(const buffer& b) {
  if (b.sent && b.received) return direction::both;
  return b.sent ? direction::sent : direction::received;
}

}  // namespace

void see_buffer(routine_id id, const where& w, const buffer& b) {
  if (!b.present()) return;
  usage_cell seen;
  seen.checks = 1;
  seen.bytes = bytes_of(b);
  if ((modes_in_use & mode_inject) != 0) {
    routine_counts& counts = counts_here(id);
    const std::uint64_t before = counts.ticks;
    inject_query(b.address);
    seen.injected = 1;
    seen.query_ns = static_cast<double>(counts.ticks - before) * ns_per_tick();
  }
  const memory_kind kind = kind_of(b.address);  // after the injected query, which would find all at hand otherwise
  declaration said = w.has_handle ? declarations.find(w.handle) : declaration{};
  if (said.unsaid() && w.has_handle) said = default_declaration;
  add_usage(w.handle, writer_for(w), said.packed(), way_of(b), kind, seen);
}

}  // namespace imbrex::sessions::IX_MPI
