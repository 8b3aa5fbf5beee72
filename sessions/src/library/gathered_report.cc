#include "library/gathered_report.h"

#include <sched.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/settings.h"
#include "library/report.h"

namespace imbrex::sessions::IX_MPI {

namespace {

constexpr int seconds_until_complaint = 10;

/// Memory by malloc, so that a program is not ended where there is none: then there is no report.
template <class T>
struct array {
  T* data;
  explicit array(std::size_t n) : data(static_cast<T*>(std::calloc(n == 0 ? 1 : n, sizeof(T)))) {}
  ~array() { std::free(data); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
};

rank_summary summary_here(int rank, int num_rows, int num_usage_rows) {
  rank_summary summary = summarize();
  char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
  int length = 0;
  mpi.Get_processor_name(host, &length);
  std::snprintf(summary.host, sizeof summary.host, "%.*s", static_cast<int>(sizeof summary.host) - 1, host);
  summary.rank = rank;
  summary.num_rows = num_rows;
  summary.num_usage_rows = num_usage_rows;
  return summary;
}

/// The rows of all ranks at rank 0, of which each knows how many there are.
template <class Row>
class gathered_rows {
 public:
  gathered_rows(const Row* own, int num_own, const rank_summary* summaries, int num_ranks, int rank_summary::* num_rows)
      : bytes_(at_root(summaries, num_ranks)),
        offsets_(at_root(summaries, num_ranks)),
        rows_(count(summaries, num_ranks, num_rows)) {
    for (int i = 0, offset = 0; summaries != nullptr && i < num_ranks; ++i) {
      bytes_.data[i] = summaries[i].*num_rows * static_cast<int>(sizeof(Row));
      offsets_.data[i] = offset;
      offset += bytes_.data[i];
    }
    mpi.Gatherv(own, num_own * static_cast<int>(sizeof(Row)), mpi.byte, rows_.data, bytes_.data, offsets_.data,
                mpi.byte, 0, mpi.comm_world);
  }
  const Row* data() const { return rows_.data; }

 private:
  static std::size_t at_root(const rank_summary* summaries, int num_ranks) {
    return summaries == nullptr ? 0 : static_cast<std::size_t>(num_ranks);
  }
  static std::size_t count(const rank_summary* summaries, int num_ranks, int rank_summary::* num_rows) {
    std::size_t total = 0;
    for (int i = 0; summaries != nullptr && i < num_ranks; ++i)
      total += static_cast<std::size_t>(summaries[i].*num_rows);
    return total;
  }

  array<int> bytes_, offsets_;
  array<Row> rows_;
};

/// Rows of the same name as one. Room for four times what a rank may have: names seldom differ between ranks.
int merge_all(const rank_summary* summaries, int num_ranks, const usage_row* rows, usage_row* merged, int room) {
  int num_merged = 0;
  for (int i = 0; i < num_ranks; ++i) {
    num_merged = merge_usage(rows, summaries[i].num_usage_rows, merged, num_merged, room);
    rows += summaries[i].num_usage_rows;
  }
  return num_merged;
}

/// A rank that is not there would be waited for without a word.
void complain_of_waiting() {
  int rank = 0;
  mpi.Comm_rank(mpi.comm_world, &rank);
  complain(
      "rank %d has waited %d s in MPI_Init for the other ranks, with which it makes one report: all need this library, "
      "the same IMBREX_SESSIONS and the same IMBREX_SESSIONS_OUTPUT; end the job if one has not",
      rank, seconds_until_complaint);
}

}  // namespace

bool is_reported() { return (current_settings().modes & mode_count) != 0 || current_settings().output != nullptr; }

// Not MPI_Barrier: that would meet the program's own on a rank that has no library.
int meet_all_ranks() {
  MPI_Request request = mpi.request_null;
  int result = mpi.Ibarrier(mpi.comm_world, &request);
  const double begin = seconds_now();
  bool has_complained = false;
  for (int is_done = 0; result == MPI_SUCCESS && is_done == 0;) {
    result = mpi.Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) break;
    sched_yield();
    if (has_complained || seconds_now() - begin < seconds_until_complaint) continue;
    has_complained = true;
    complain_of_waiting();
  }
  return result;
}

void report_gathered() {
  if (!is_reported()) return;
  int rank = 0;
  int num_ranks = 0;
  mpi.Comm_rank(mpi.comm_world, &rank);
  mpi.Comm_size(mpi.comm_world, &num_ranks);
  const auto at_root = static_cast<std::size_t>(rank == 0 ? num_ranks : 0);

  const array<routine_row> own(num_routines + 1);
  const int num_rows = own.data == nullptr ? 0 : collect_rows(own.data, num_routines + 1);
  const array<usage_row> own_usage(max_usage_rows);
  const int num_usage = own_usage.data == nullptr ? 0 : collect_usage(own_usage.data);
  const rank_summary summary = summary_here(rank, num_rows, num_usage);
  const array<rank_summary> summaries(at_root);
  mpi.Gather(&summary, sizeof summary, mpi.byte, summaries.data, sizeof summary, mpi.byte, 0, mpi.comm_world);

  const rank_summary* known = rank == 0 ? summaries.data : nullptr;
  const gathered_rows<routine_row> rows(own.data, num_rows, known, num_ranks, &rank_summary::num_rows);
  const gathered_rows<usage_row> usage(own_usage.data, num_usage, known, num_ranks, &rank_summary::num_usage_rows);
  if (rank == 0) {
    constexpr int room = 4 * max_usage_rows;
    const array<usage_row> merged(room);
    const int num_merged = merged.data == nullptr ? 0 : merge_all(known, num_ranks, usage.data(), merged.data, room);
    write_report({num_ranks, known, rows.data(), num_merged, merged.data});
  }
  report_is_done();
}

}  // namespace imbrex::sessions::IX_MPI
