#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/base/serialize.h"
#include "imbrex/comm/message.h"
#include "imbrex/comm/transport.h"
#include "imbrex/pe/arrival_order.h"

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
  template <class Start>
  void begin(executor& pe, std::int8_t level, const std::vector<large_block>& blocks, Start start);

 private:
  struct one : transfer {
    array_transfers* of = nullptr;
  };
  static void end(work* w, work_action action) {
    auto* const self = static_cast<one*>(w)->of;
    self->is_given_up_ = self->is_given_up_ || action == work_action::discard;
    if (--self->num_left_ == 0) self->over(self->is_given_up_);
  }
  /// Frees this; `given_up`: the job ends, and the arrays may not have been moved.
  virtual void over(bool given_up) = 0;

  std::unique_ptr<one[]> each_;
  std::size_t num_left_ = 0;
  bool is_given_up_ = false;
};

template <class Start>
void array_transfers::begin(executor& pe, std::int8_t level, const std::vector<large_block>& blocks, Start start) {
  each_ = std::make_unique<one[]>(blocks.size());
  num_left_ = blocks.size();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    one& t = each_[i];
    t.of = this;
    t.pe = &pe;
    t.act = &array_transfers::end;
    t.level = level;
    try {
      start(blocks[i], &t);
    } catch (...) {
      is_given_up_ = true;
      num_left_ -= blocks.size() - i;
      if (num_left_ == 0) over(true);
      throw;
    }
  }
}

/// What is sent from, until it has left.
template <class B>
class departing final : public array_transfers {
 public:
  template <class H>
  explicit departing(H&& from) : body(std::forward<H>(from)) {}
  B body;

 private:
  void over(bool) override { delete this; }
};

/// What is received into, until it is whole; then `Perform(body, flow)` is called.
template <class B, void (*Perform)(B&, std::uint64_t)>
class arriving final : public array_transfers, public arrival {
 public:
  /// Reads `m`, and fetches what is beside it. Throws what reading does, and the transport; frees `m`.
  static void start(executor& pe, arrival_order& order, transport& network, rank_id source, wire_message* m) {
    const std::unique_ptr<wire_message, void (*)(wire_message*)> owned(m, &wire_message::destroy);
    auto self = std::make_unique<arriving>(order, m->header);
    std::vector<large_block> blocks;
    input_archive in(m->payload(), m->header.size, &blocks);
    self->body_.serialize(in);
    if (in.bytes_left() != 0) throw_left_over(type_name<B>(), in.bytes_left());
    if (blocks.empty()) throw comm_error("a message lacks its large arguments: do all ranks run the same program?");
    order.expect(self.get());
    self.release()->begin(pe, m->header.level, blocks, [&](const large_block& b, transfer* done) {
      network.recv_data(source, b.id, {b.data, b.bytes, memory_kind::host, -1}, done);
    });
  }

  arriving(arrival_order& order, const wire_header& h) : order_(order), flow_(h.flow) {
    from = h.from;
    level = h.level;
    act = &arriving::perform;
  }

 private:
  static void perform(work* w, work_action action) {
    const std::unique_ptr<arriving> self(static_cast<arriving*>(static_cast<arrival*>(w)));
    if (action == work_action::run) Perform(self->body_, self->flow_);
  }
  void over(bool given_up) override { given_up ? order_.give_up(this) : order_.complete(this); }

  arrival_order& order_;
  const std::uint64_t flow_;
  B body_{};
};

}  // namespace imbrex::detail
