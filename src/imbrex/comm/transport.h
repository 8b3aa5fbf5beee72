#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/base/ids.h"
#include "imbrex/comm/job_end.h"
#include "imbrex/comm/message.h"
#include "imbrex/comm/transfer.h"

namespace imbrex {

/// Where a transport puts what arrives for this rank: the inbox of PE `first_pe + i` is `pes[i]`; every arriving
/// message gets `act` as its function and the priority its header names. Plain data: nothing is called back.
struct delivery {
  pe_id first_pe = 0;
  std::vector<executor*> pes;
  work::function act = nullptr;

  /// Posts `m` to its PE; false, and `m` stays the caller's, when that is none of these. Messages of a pair of PEs
  /// must be handed over one at a time; then they stay in that order whichever threads do it.
  bool post(wire_message* m) const {
    const auto slot = static_cast<std::size_t>(static_cast<std::int64_t>(m->header.to) - first_pe);
    if (slot >= pes.size()) [[unlikely]]
      return false;
    m->act = act;
    m->level = m->header.level;
    executor* pe = pes[slot];
    // A PE posts to itself past its inbox, where an earlier message may lie that another thread delivered.
    if (pe == executor::current()) pe->collect_everything();
    pe->post(m);
    return true;
  }
};

/// Moves messages between the ranks of a job. Life: constructed; `all_gather` any number of times; `start`;
/// `send` and `poll` by any PE thread; PEs stop; `stop`; `all_gather` any number of times; destroyed.
/// Order: messages from one PE to another PE arrive in the order sent (unless the transport was asked to test what
/// happens otherwise). Errors: `comm_error` naming the rank.
class transport {
 public:
  virtual ~transport() = default;

  virtual rank_id rank() const = 0;
  virtual int num_ranks() const = 0;
  /// How many of the job's ranks share this host (for pinning and for how to wait), and which of them this is.
  virtual int num_local_ranks() const { return num_ranks(); }
  virtual int local_rank() const { return rank(); }
  /// "loopback", "mpi", "ucx".
  virtual std::string name() const = 0;

  /// Whether all ranks live in one process, and so have the same globals.
  virtual bool shares_process() const { return false; }
  /// The machine that this rank runs on, where that is not this one: of a cluster that is simulated. Empty: this one.
  virtual std::string simulated_host() const { return {}; }

  /// From now on messages are delivered. Not collective: what arrives before is kept.
  virtual void start(const delivery& to) = 0;

  /// Sends `m` to the PE `m->header.to` of rank `to` (never this rank) and takes ownership of it.
  /// Any PE thread; does not wait for the receiver. The message's memory is freed when it has left.
  virtual void send(rank_id to, wire_message* m) = 0;

  /// Makes progress: completes sends, delivers arrivals. Any PE thread; never blocks (returns at once when another
  /// thread is at it). True when something arrived or left.
  virtual bool poll() = 0;
  /// Whether arrivals are noticed only by `poll` (then an idle PE must not sleep for long).
  virtual bool needs_polling() const = 0;

  /// \name Data apart from messages: large, or in a GPU's memory. By PE threads, between start and stop; nothing
  /// blocks. Each `send_data` meets the `recv_data` that names the same two ranks, the same `id` and the same number of
  /// bytes, in whichever order they are called; a send is posted only when it has been received; a pair of ranks never
  /// uses an id twice, and all are smaller than 2^44. Memory and transfer stay the caller's and must live until the
  /// transfer is posted. `recv_data` is called on the PE that the send names.
  ///@{
  /// In an id: sender's and receiver's memory are the host's, so that nobody below needs to ask where they lie.
  static constexpr std::uint64_t between_hosts = std::uint64_t{1} << 30;
  /// Whether it moves data of this kind without help. What it does not reach, the caller stages through pinned memory.
  virtual bool reaches(memory_kind kind) const { return kind != memory_kind::device; }
  virtual void send_data(rank_id to, pe_id to_pe, std::uint64_t id, const data_view& from, transfer* done) = 0;
  virtual void recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) = 0;
  /// A large piece of memory that data will lie in, such as a pool's slab: registered here, once, if that helps.
  /// Any thread; forgotten before it is freed.
  virtual void add_memory(const data_view&) {}
  virtual void forget_memory(const std::byte*) {}
  ///@}

  /// \name One-sided movement of data, where the transport has it of its own (else active messages take its place)
  ///@{
  virtual bool has_one_sided(memory_kind) const { return false; }
  /// What others need to reach `memory`, as bytes for `put` and `get`.
  virtual std::vector<std::byte> share_memory(const data_view& memory);
  /// Writes `from` to address `there` of rank `to`; posts `done` when it has arrived.
  virtual void put(rank_id to, const std::vector<std::byte>& key, std::uint64_t there, const data_view& from,
                   transfer* done);
  /// Reads `to.bytes` from address `there` of rank `from`.
  virtual void get(rank_id from, const std::vector<std::byte>& key, std::uint64_t there, const data_view& to,
                   transfer* done);
  ///@}

  /// Collective, once every rank has decided to end and its PEs run no more: completes all sends, receives and
  /// discards what is still on its way, so that nothing leaks. Returns what the ranks agree on, the same on all of
  /// them: a failure of any rank, else the lowest rank's `mine`. After a failure of its own a rank waits for the others
  /// for at most some seconds, and goes alone with `mine` if they do not come.
  virtual job_end stop(const job_end& mine) = 0;

  /// Collective and blocking, outside start..stop: everyone's bytes, in rank order, on every rank.
  virtual std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) = 0;

  /// As `all_gather`, for much: rank 0 calls `take` with everyone's bytes, one rank's after the other's, and holds
  /// those of one at a time where it can; others call nothing. What `take` throws, rank 0 throws when it has them all.
  virtual void collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take);

  /// Ends the whole job at once, without clean-up: the last resort.
  [[noreturn]] virtual void abort(int exit_code) = 0;

 protected:
  /// What rank 0 does in `collect`.
  class collected {
   public:
    explicit collected(const std::function<void(std::vector<std::byte>)>& take) : take_(take) {}
    void add(std::vector<std::byte> bytes);
    void finish() const;

   private:
    const std::function<void(std::vector<std::byte>)>& take_;
    std::exception_ptr failure_;
  };
};

}  // namespace imbrex
