#include "library/gathered_report.h"

#include <cstdio>
#include <cstdlib>

#include "base/settings.h"
#include "library/report.h"

namespace imbrex::sessions::IX_MPI {

namespace {

/// Memory by malloc, so that a program is not ended where there is none: then there is no report.
template <class T>
struct array {
  T* data;
  explicit array(std::size_t n) : data(static_cast<T*>(std::calloc(n == 0 ? 1 : n, sizeof(T)))) {}
  ~array() { std::free(data); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
};

rank_summary summary_here(int rank, int num_rows) {
  rank_summary summary = summarize();
  char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
  int length = 0;
  mpi.Get_processor_name(host, &length);
  std::snprintf(summary.host, sizeof summary.host, "%.*s", static_cast<int>(sizeof summary.host) - 1, host);
  summary.rank = rank;
  summary.num_rows = num_rows;
  return summary;
}

void place_rows(const rank_summary* summaries, int num_ranks, int* bytes, int* offsets) {
  int offset = 0;
  for (int i = 0; i < num_ranks; ++i) {
    bytes[i] = summaries[i].num_rows * static_cast<int>(sizeof(routine_row));
    offsets[i] = offset;
    offset += bytes[i];
  }
}

std::size_t total_rows(const rank_summary* summaries, int num_ranks) {
  std::size_t total = 0;
  for (int i = 0; i < num_ranks; ++i) total += static_cast<std::size_t>(summaries[i].num_rows);
  return total;
}

}  // namespace

void report_gathered() {
  if ((current_settings().modes & mode_count) == 0 && current_settings().output == nullptr) return;
  int rank = 0;
  int num_ranks = 0;
  mpi.Comm_rank(mpi.comm_world, &rank);
  mpi.Comm_size(mpi.comm_world, &num_ranks);
  const auto at_root = static_cast<std::size_t>(rank == 0 ? num_ranks : 0);

  const array<routine_row> own(num_routines + 1);
  const int num_rows = own.data == nullptr ? 0 : collect_rows(own.data, num_routines + 1);
  const rank_summary summary = summary_here(rank, num_rows);
  const array<rank_summary> summaries(at_root);
  mpi.Gather(&summary, sizeof summary, mpi.byte, summaries.data, sizeof summary, mpi.byte, 0, mpi.comm_world);

  const array<int> bytes(at_root);
  const array<int> offsets(at_root);
  if (rank == 0) place_rows(summaries.data, num_ranks, bytes.data, offsets.data);
  const array<routine_row> all(rank == 0 ? total_rows(summaries.data, num_ranks) : 0);
  mpi.Gatherv(own.data, num_rows * static_cast<int>(sizeof(routine_row)), mpi.byte, all.data, bytes.data, offsets.data,
              mpi.byte, 0, mpi.comm_world);
  if (rank == 0) write_report(num_ranks, summaries.data, all.data);
  report_is_done();
}

}  // namespace imbrex::sessions::IX_MPI
