#include "routines/buffer_usage.h"

#include <pthread.h>

#include <cstdio>
#include <cstring>

#include "base/mutex_scope.h"

namespace imbrex::sessions {

namespace {

constexpr const char* all_others = "all others";

struct named_handle {
  std::uintptr_t handle;
  int row;
};

pthread_mutex_t usage_lock = PTHREAD_MUTEX_INITIALIZER;
usage_row own_rows[max_usage_rows];
int num_own_rows = 0;
named_handle handles[max_usage_rows];
int num_handles = 0;

int row_named(const char* name) {
  for (int i = 0; i < num_own_rows; ++i) {
    if (std::strcmp(own_rows[i].where, name) == 0) return i;
  }
  if (num_own_rows == max_usage_rows - 1) name = all_others;
  if (num_own_rows == max_usage_rows) return max_usage_rows - 1;
  std::snprintf(own_rows[num_own_rows].where, sizeof own_rows[0].where, "%s", name);
  return num_own_rows++;
}

int row_of(std::uintptr_t handle, write_name name) {
  for (int i = 0; i < num_handles; ++i) {
    if (handles[i].handle == handle) return handles[i].row;
  }
  char text[sizeof own_rows[0].where] = "";
  name(handle, text, sizeof text);
  const int row = row_named(text);
  if (num_handles < max_usage_rows) handles[num_handles++] = {handle, row};
  return row;
}

void add(usage_cell& to, const usage_cell& more) {
  to.checks += more.checks;
  to.bytes += more.bytes;
  to.injected += more.injected;
  to.query_ns += more.query_ns;
}

}  // namespace

const char* name_of(direction way) {
  constexpr const char* names[num_directions] = {"sent", "received", "both"};
  return names[static_cast<int>(way)];
}

void add_usage(std::uintptr_t handle, write_name name, std::uint8_t declared, direction way, memory_kind kind,
               const usage_cell& seen) {
  const mutex_scope lock(usage_lock);
  usage_row& row = own_rows[row_of(handle, name)];
  row.declared = declared;
  add(row.cells[static_cast<int>(way)][static_cast<int>(kind)], seen);
}

void forget_usage_of(std::uintptr_t handle) {
  const mutex_scope lock(usage_lock);
  for (int i = 0; i < num_handles; ++i) {
    if (handles[i].handle == handle) handles[i] = handles[--num_handles];
  }
}

int collect_usage(usage_row* rows) {
  const mutex_scope lock(usage_lock);
  std::memcpy(rows, own_rows, sizeof(usage_row) * static_cast<std::size_t>(num_own_rows));
  return num_own_rows;
}

int merge_usage(const usage_row* rows, int num_rows, usage_row* merged, int num_merged, int room) {
  for (int i = 0; i < num_rows; ++i) {
    int at = 0;
    while (at < num_merged && std::strcmp(merged[at].where, rows[i].where) != 0) ++at;
    if (at == room) at = room - 1;
    if (at == num_merged) {
      ++num_merged;
      std::snprintf(merged[at].where, sizeof merged[at].where, "%s", at == room - 1 ? all_others : rows[i].where);
      merged[at].declared = rows[i].declared;
    }
    if (merged[at].declared != rows[i].declared) merged[at].declared = 0;  // not alike on all ranks
    for (int way = 0; way < num_directions; ++way) {
      for (int kind = 0; kind < num_memory_kinds; ++kind) add(merged[at].cells[way][kind], rows[i].cells[way][kind]);
    }
  }
  return num_merged;
}

}  // namespace imbrex::sessions
