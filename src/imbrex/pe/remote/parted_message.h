#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/base/archive.h"
#include "imbrex/comm/message.h"
#include "imbrex/comm/transport.h"
#include "imbrex/pe/remote/arrival_order.h"

/// Large arrays among the arguments of a message between ranks travel beside it (`beside` in base/serialize.h): the
/// message says how large they are and by which ids they go, the transport moves each from where the sender has it to
/// where the receiver will have it. The sender's body lives until that is done; the receiver's is performed then, in
/// the order in which messages were sent (arrival_order.h).
namespace imbrex::detail {

/// The large arrays of one message under way, one transfer each. On the PE's thread.
class array_transfers {
 public:
  array_transfers() = default;
  virtual ~array_transfers() = default;
  array_transfers(const array_transfers&) = delete;
  array_transfers& operator=(const array_transfers&) = delete;

  /// Calls `start(block, transfer)` for each array. When all have ended, `over` is called, later. When `start` throws,
  /// the rest is not begun, this ends as with the job, and the exception goes on.
  void begin(executor& pe, std::int8_t level, const std::vector<large_block>& blocks,
             const std::function<void(const large_block&, transfer*)>& start);

 private:
  struct one : transfer {
    array_transfers* of = nullptr;
  };
  static void end(work* w, work_action action);
  /// Frees this; `given_up`: the job ends, and the arrays may not have been moved.
  virtual void over(bool given_up) = 0;

  std::unique_ptr<one[]> each_;
  std::size_t num_left_ = 0;
  bool is_given_up_ = false;
};

/// What is sent from, until it has left.
class departing_body : public array_transfers {
 public:
  explicit departing_body(void* b) : body(b) {}
  void* const body;

 private:
  void over(bool) final { delete this; }
};
template <class B>
class departing final : public departing_body {
 public:
  explicit departing(B&& from) : departing_body(&kept_), kept_(std::move(from)) {}

 private:
  B kept_;
};

/// What is received into, until it is whole; then it is performed.
class arriving_body : public array_transfers, public arrival {
 public:
  arriving_body(arrival_order& order, const wire_header& h);

  /// Reads `m` into `self`, and fetches what is beside it. Throws what reading does, and the transport; frees `m`.
  static void start(executor& pe, transport& network, rank_id source, wire_message* m,
                    std::unique_ptr<arriving_body> self);

 private:
  virtual const char* body_type() const = 0;
  virtual void read(input_archive& in) = 0;
  virtual void run(std::uint64_t flow) = 0;
  static void perform(work* w, work_action action);
  void over(bool given_up) final { given_up ? order_.give_up(this) : order_.complete(this); }

  arrival_order& order_;
  const std::uint64_t flow_;
};

}  // namespace imbrex::detail
