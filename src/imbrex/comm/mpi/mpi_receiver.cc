#include "imbrex/comm/mpi/mpi_receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

std::uint64_t pair_of(const wire_header& h) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(h.from)) << 32) | static_cast<std::uint32_t>(h.to);
}

}  // namespace

mpi_receiver::mpi_receiver(const mpi_job& job, mpi_pending& pending)
    : job_(job),
      pending_(pending),
      buffers_(new buffer[ring_size]),
      requests_(ring_size, MPI_REQUEST_NULL),
      num_received_(static_cast<std::size_t>(job.num_ranks())) {}

void mpi_receiver::start(const delivery& to) {
  delivery_ = to;
  for (std::size_t i = 0; i < ring_size; ++i) {
    mpi_check(MPI_Recv_init(buffers_[i].bytes, static_cast<int>(mpi_eager_bytes), MPI_BYTE, MPI_ANY_SOURCE, 0,
                            job_.messages(), &requests_[i]),
              "MPI_Recv_init", job_.rank());
  }
  num_used_ = ring_size;
  post_used();
}

bool mpi_receiver::poll() {
  if (!take_one()) {
    bursting_ = false;
    if (num_used_ > 0) post_used();
    return false;
  }
  if (bursting_) {
    for (int i = 1; i < max_burst && take_one(); ++i) {
    }
  }
  bursting_ = true;
  return true;
}

bool mpi_receiver::take_one() {
  int arrived = 0;
  MPI_Status status;
  mpi_check(MPI_Test(&requests_[oldest_], &arrived, &status), "MPI_Test", job_.rank());
  if (arrived == 0) return false;
  int count = 0;
  mpi_check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count", job_.rank());
  const std::byte* bytes = buffers_[oldest_].bytes;
  oldest_ = (oldest_ + 1) % ring_size;
  ++num_used_;
  take(bytes, static_cast<std::uint64_t>(count), status.MPI_SOURCE);
  if (num_used_ >= ring_size / 2) post_used();
  return true;
}

void mpi_receiver::take(const std::byte* bytes, std::uint64_t count, rank_id source) {
  mpi_announcement a;
  if (count >= sizeof(wire_header)) std::memcpy(&a.header, bytes, sizeof(wire_header));
  if (count >= sizeof(wire_header) && count == sizeof(wire_header) + a.header.size) [[likely]] {
    wire_message* m = wire_message::make(a.header.size);
    std::memcpy(m->wire_bytes(), bytes, count);
    ++num_received_[static_cast<std::size_t>(source)];
    return deliver_in_order(m);
  }
  if (count != sizeof(mpi_announcement)) {
    throw comm_error(
        fmt::format("a message of {} bytes from rank {} to rank {} names a payload of {} bytes: do all "
                    "ranks run the same program?",
                    count, source, job_.rank(), a.header.size));
  }
  std::memcpy(&a, bytes, sizeof a);
  expect_pieces(a, source);
}

void mpi_receiver::expect_pieces(const mpi_announcement& a, rank_id source) {
  wire_message* m = nullptr;
  try {
    m = wire_message::make(a.header.size);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(fmt::format("no memory on rank {} for a message of {} bytes from rank {}: send less at once",
                                    job_.rank(), a.header.size, source));
  }
  m->header = a.header;
  auto* t = new mpi_transfer{.message = m, .peer = source, .incoming = true, .announcement = {}};
  for_each_mpi_piece(m->payload(), a.header.size, [&](std::byte* start, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Irecv(start, count, MPI_BYTE, source, static_cast<int>(a.tag), job_.pieces(), &request), "MPI_Irecv",
              job_.rank(), source);
    pending_.add(request, t);
  });
  ++num_incomplete_;
  queues_[pair_of(m->header)].push_back(queued{m, false});
}

void mpi_receiver::complete(mpi_transfer* t) {
  ++num_received_[static_cast<std::size_t>(t->peer)];
  --num_incomplete_;
  const auto found = queues_.find(pair_of(t->message->header));
  std::deque<queued>& queue = found->second;
  std::find_if(queue.begin(), queue.end(), [t](const queued& q) { return q.message == t->message; })->complete = true;
  delete t;
  while (!queue.empty() && queue.front().complete) {
    wire_message* m = queue.front().message;
    queue.pop_front();
    deliver(m);
  }
  if (queue.empty()) queues_.erase(found);
}

void mpi_receiver::deliver_in_order(wire_message* m) {
  if (num_incomplete_ > 0) [[unlikely]] {
    if (const auto found = queues_.find(pair_of(m->header)); found != queues_.end()) {
      found->second.push_back(queued{m, true});
      return;
    }
  }
  deliver(m);
}

void mpi_receiver::deliver(wire_message* m) {
  if (discarding_) [[unlikely]]
    return wire_message::destroy(m);
  if (delivery_.post(m)) [[likely]]
    return;
  const wire_header h = m->header;
  wire_message::destroy(m);
  throw comm_error(fmt::format("a message from pe {} is for pe {}, but rank {} has pes {} to {}", h.from, h.to,
                               job_.rank(), delivery_.first_pe,
                               delivery_.first_pe + static_cast<pe_id>(delivery_.pes.size()) - 1));
}

// One by one: MPI_Startall may start them in any order.
void mpi_receiver::post_used() {
  for (; num_used_ > 0; --num_used_) {
    mpi_check(MPI_Start(&requests_[(oldest_ + ring_size - num_used_) % ring_size]), "MPI_Start", job_.rank());
  }
}

void mpi_receiver::discard_from_now() { discarding_ = true; }

void mpi_receiver::cancel() {
  for (std::size_t i = 0; i < ring_size; ++i) {
    MPI_Request& request = requests_[(oldest_ + i) % ring_size];
    if (request == MPI_REQUEST_NULL) continue;
    if (i < ring_size - num_used_) {
      mpi_check(MPI_Cancel(&request), "MPI_Cancel", job_.rank());
      mpi_check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait", job_.rank());
    }
    mpi_check(MPI_Request_free(&request), "MPI_Request_free", job_.rank());
  }
}

bool mpi_receiver::cancel_after_loss() {
  bool all_have_ended = true;
  for (std::size_t i = 0; i < ring_size; ++i) {
    MPI_Request& request = requests_[(oldest_ + i) % ring_size];
    if (request == MPI_REQUEST_NULL) continue;
    if (i < ring_size - num_used_) {
      MPI_Cancel(&request);
      int done = 0;
      const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (code == MPI_SUCCESS && done == 0) {
        all_have_ended = false;
        continue;
      }
      if (code != MPI_SUCCESS) request = MPI_REQUEST_NULL;  // it is left to MPI
    }
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  return all_have_ended;
}

}  // namespace imbrex
