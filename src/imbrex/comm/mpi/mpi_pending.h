#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "imbrex/comm/message.h"
#include "imbrex/comm/mpi/mpi_job.h"
#include "imbrex/comm/transfer.h"

namespace imbrex {

/// What is sent ahead of a large message: its header, and the tag under which its pieces follow.
struct mpi_announcement {
  wire_header header;
  std::int64_t tag = 0;
};

/// A large message on its way, in pieces. `announcement` is the sender's, and must stay until it has left.
struct mpi_transfer {
  wire_message* message = nullptr;
  rank_id peer = -1;
  bool incoming = false;
  int num_pending = 0;
  mpi_announcement announcement;
};

/// Data apart from messages on its way, in pieces.
struct mpi_data {
  transfer* done = nullptr;
  rank_id peer = -1;
  bool incoming = false;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  int num_pending = 0;
};

/// MPI requests under way that complete in any order, each with what it belongs to.
/// The caller holds the lock.
class mpi_pending {
 public:
  /// How many requests one call looks at, so that a poll stays short however many are under way.
  static constexpr std::size_t window = 16;

  bool empty() const { return requests_.empty(); }
  std::size_t size() const { return requests_.size(); }

  /// All data under way.
  std::vector<const mpi_data*> data() const {
    std::vector<const mpi_data*> all;
    for (const owner& o : owners_) {
      if (o.data != nullptr && (all.empty() || all.back() != o.data)) all.push_back(o.data);
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  /// Withdraws what is left of receives of data; their transfers are posted as if they had ended.
  void cancel_receives(rank_id me) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (owners_[i].data != nullptr && owners_[i].data->incoming)
        mpi_check(MPI_Cancel(&requests_[i]), "MPI_Cancel", me, owners_[i].data->peer);
    }
  }

  /// A rank is lost, and the communicators have been revoked: every request ends, with an error or not. Looks once at
  /// all of them, and treats what has ended as if it had moved.
  template <class Completed>
  void progress_after_loss(Completed completed) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      const int code = MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (code == MPI_SUCCESS && done == 0) continue;
      requests_[i] = MPI_REQUEST_NULL;  // one that failed is left to MPI: Open MPI may not be done with it
      conclude(owners_[i], completed);
    }
    next_ = 0;
    remove_completed(requests_.size());
  }

  void add(MPI_Request request, wire_message* m) { add(request, owner{m, nullptr, nullptr}); }
  void add(MPI_Request request, mpi_transfer* t) {
    add(request, owner{nullptr, t, nullptr});
    ++t->num_pending;
  }
  void add(MPI_Request request, mpi_data* d) {
    add(request, owner{nullptr, nullptr, d});
    ++d->num_pending;
  }

  /// Looks at the next few requests. Frees the messages that have left, posts the data that has
  /// moved; calls `completed(t)` for each transfer of which
  /// the last request is done. True when any completed.
  template <class Completed>
  bool progress(rank_id me, Completed completed) {
    if (next_ >= requests_.size()) next_ = 0;
    const std::size_t count = requests_.size() - next_ < window ? requests_.size() - next_ : window;
    int num_done = 0;
    int done[window];
    MPI_Status statuses[window];
    const int code = MPI_Testsome(static_cast<int>(count), requests_.data() + next_, &num_done, done, statuses);
    if (code != MPI_ERR_IN_STATUS) mpi_check(code, "MPI_Testsome", me);
    if (num_done <= 0) {
      next_ += count;
      return false;
    }
    for (int i = 0; i < num_done; ++i) {
      const std::size_t at = next_ + static_cast<std::size_t>(done[i]);
      requests_[at] = MPI_REQUEST_NULL;  // one that failed is left to MPI
      conclude(owners_[at], completed);
    }
    remove_completed(count);
    if (code != MPI_SUCCESS) [[unlikely]]
      throw_failure(statuses, num_done, me);
    return true;
  }

 private:
  struct owner {
    wire_message* message;
    mpi_transfer* transfer;
    mpi_data* data;
  };

  [[noreturn]] static void throw_failure(const MPI_Status* statuses, int count, rank_id me) {
    int code = MPI_ERR_IN_STATUS;
    for (int i = 0; i < count; ++i) {
      if (statuses[i].MPI_ERROR != MPI_SUCCESS) code = statuses[i].MPI_ERROR;
    }
    throw_mpi_error(code, "MPI_Testsome", me, -1);
  }

  template <class Completed>
  static void conclude(owner& o, Completed& completed) {
    if (o.message != nullptr) {
      wire_message::destroy(o.message);
    } else if (o.data != nullptr) {
      if (--o.data->num_pending > 0) return;
      o.data->done->complete();
      delete o.data;
    } else if (--o.transfer->num_pending == 0) {
      completed(o.transfer);
    }
  }

  void add(MPI_Request request, const owner& o) {
    requests_.push_back(request);
    owners_.push_back(o);
  }

  // Completed requests are null now; the last ones take their places.
  void remove_completed(std::size_t count) {
    for (std::size_t i = next_ + count; i-- > next_;) {
      if (requests_[i] != MPI_REQUEST_NULL) continue;
      requests_[i] = requests_.back();
      owners_[i] = owners_.back();
      requests_.pop_back();
      owners_.pop_back();
    }
  }

  std::vector<MPI_Request> requests_;
  std::vector<owner> owners_;
  std::size_t next_ = 0;
};

}  // namespace imbrex
