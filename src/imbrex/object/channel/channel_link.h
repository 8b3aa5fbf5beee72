#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/base/type_name.h"
#include "imbrex/object/channel/channel_body.h"
#include "imbrex/object/channel/link_kind.h"
#include "imbrex/object/entry/element_identity.h"

namespace imbrex::detail {

/// One end of a channel as the sender needs it: knows the other end.
struct channel_link : port_end {
  using port_end::port_end;
  virtual void post(scheduler& pe, channel_message&& m) = 0;
  /// In a process: the point after what is enqueued on `s`, for whoever is thought to read.
  virtual event record_for_reader(scheduler& pe, stream& s) const = 0;
  /// In a process with GPUs: that of the chare at the other end, as far as is known; null: there is none here.
  virtual device* device_of_reader(scheduler& pe) const = 0;
  /// What an end in another process needs to go on from this one.
  virtual link_address address() const = 0;

  /// Tells the other end where this one is, if that one is in another process or this one has `resumed` what was begun
  /// elsewhere. Once, when it has been opened.
  void introduce(scheduler& pe, bool resumed) {
    if (mover() == nullptr) return;
    if (resumed) learn_place(pe);
    const bool apart = !stays_in_process(pe);
    if (resumed || apart) tell(pe, resumed && apart && !peer().known());
  }
  void meet(const channel_hello& hello) override {
    if (!note_peer(hello.peer)) return;
    scheduler& pe = scheduler::current();
    learn_place(pe);
    if (hello.wants_answer) tell(pe, false);
  }
  void tell_of_move(scheduler& pe) override {
    if (mover() != nullptr && (peer().known() || !stays_in_process(pe))) tell(pe, false);
  }

  /// Says in a message of so many bytes that is sent now which one it is.
  void sign(channel_message& m, std::size_t bytes) {
    if (opening() == 0) [[unlikely]]
      begins_to_send(self->ports().next_opening(*this));
    m.from = identity;
    number(m, bytes);
  }
  /// Sends `m` from memory of the host, or of a device when it is ready there, to another process: with the data, or
  /// with word of where they are.
  void post_to_process(scheduler& pe, channel_message&& m, const data_view& from, remote_data::path by) {
    if (by == remote_data::path::whole)
      m.remote = mover()->send_whole(peer().rank, peer().pe, from, std::move(m.lent), goes_to_host());
    post(pe, std::move(m));
  }
  /// The same from memory of a device, ready or not, through pinned memory in the order of `s`.
  void send_chunks(scheduler& pe, channel_message&& m, stream& s) {
    m.remote = mover()->send_chunks(peer().rank, peer().pe, s, std::move(m.lent), goes_to_host());
    post(pe, std::move(m));
  }
  /// `none` also while it is not known where the other end is: it has not told of itself, or has left this process.
  remote_data::path way(memory_kind here, std::uint64_t bytes) const {
    if (!peer().known() || peer().rank == mover()->network().rank()) return remote_data::path::none;
    return mover()->choose(here, bytes, peer().rank, peer().kind);
  }
  /// Whether what is sent is copied at once, so that its chare can leave the process.
  bool sends_copies() const { return self->extras && self->extras->sends_copies; }

  /// Whether the other end is known to receive into memory of the host.
  bool goes_to_host() const { return peer().known() && peer().kind != memory_kind::device; }

  memory_kind kind = memory_kind::host;  ///< that this end is made for
  int references = 0;

 protected:
  /// What is known of the other end's place is the PE's knowledge, too.
  virtual void learn_place(scheduler& pe) const = 0;

 private:
  void tell(scheduler& pe, bool wants_answer) {
    channel_message m =
        channel_message::telling({{pe.rank().rank, pe.id(), kind, self->epoch, number_of_end}, wants_answer});
    m.from = identity;
    post(pe, std::move(m));
  }
};

/// Shares one end among its channel, the sends that still stand in streams, and whoever waits to receive: it lives as
/// long as any of them. On the end's PE only, so that counting costs an addition.
class channel_link_ref {
 public:
  channel_link_ref() = default;
  explicit channel_link_ref(channel_link* l) : link_(l) {
    if (link_ != nullptr) ++link_->references;
  }
  channel_link_ref(const channel_link_ref& other) : channel_link_ref(other.link_) {}
  channel_link_ref(channel_link_ref&& other) noexcept : link_(std::exchange(other.link_, nullptr)) {}
  channel_link_ref& operator=(channel_link_ref other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~channel_link_ref() {
    if (link_ != nullptr && --link_->references == 0) delete link_;
  }
  channel_link* operator->() const { return link_; }
  channel_link& operator*() const { return *link_; }
  explicit operator bool() const { return link_ != nullptr; }

 private:
  channel_link* link_ = nullptr;
};

template <class Index>
struct channel_link_to final : channel_link {
  /// Throws `usage_error` for an index at which the array, where this PE knows it, can have no element.
  channel_link_to(std::string name, std::uint64_t type, std::uint32_t size, data_mover* mover, collection_id a, Index i,
                  int p)
      : channel_link(std::move(name), type, size, mover), array(a), index(std::move(i)) {
    peer_port = p;
    if constexpr (is_grid_index<Index>) {
      if (array_part<Index>* const part = find_part<Index>(scheduler::current(), array)) part->home(index);
    }
    peer_identity = element_identity(array, to_bytes(index));
  }
  /// What the other end's PE has to fetch goes to where it said that it is; anything else to where its chare is thought
  /// to be.
  void post(scheduler& pe, channel_message&& m) override {
    array_part<Index>* part = find_part<Index>(pe, array);
    const pe_id to = m.remote ? peer().pe : part != nullptr ? part->record(index).where : pe.id();
    pe.send(to, channel_body<Index>{array, index, peer_port, pe.id(), std::move(m)}, priorities::communication);
  }
  bool stays_in_process(scheduler& pe) const override {
    array_part<Index>* part = find_part<Index>(pe, array);
    return part == nullptr ? pe.rank().num_ranks == 1 : pe.rank().is_local(part->record(index).where);
  }
  event record_for_reader(scheduler& pe, stream& s) const override {
    const device* const its_gpu = device_of_reader(pe);
    return its_gpu == nullptr || its_gpu->number() == s.on().number() ? s.record() : s.record_for_others();
  }
  device* device_of_reader(scheduler& pe) const override {
    array_part<Index>* part = find_part<Index>(pe, array);
    if (part == nullptr || pe.gpus.empty() || !pe.rank().is_local(part->record(index).where)) return nullptr;
    const auto reader = static_cast<std::size_t>(part->record(index).where - pe.rank().first_pe());
    return pe.gpus[static_cast<std::size_t>(pe.rank().gpu_of_pe[reader])];
  }
  std::string from_where() const override {
    array_part<Index>* const part = find_part<Index>(scheduler::current(), array);
    if (part == nullptr) return {};
    return " from port " + std::to_string(peer_port) + " of " + part->text(part->record(index));
  }
  link_address address() const override { return {kind_of_link_.number(), array, to_bytes(index), port, peer_port}; }

  collection_id array;
  Index index;

 private:
  void learn_place(scheduler& pe) const override {
    if (!peer().known()) return;
    array_part<Index>* const part = find_part<Index>(pe, array);
    if (part == nullptr) return;
    if constexpr (std::is_same_v<Index, no_index>) {
      if (part->find(index) == nullptr) return;
    }
    if (part->record(index).epoch < peer().epoch)
      location_update<Index>{array, index, peer().pe, peer().epoch, false}(pe);
  }

  static channel_link* make(std::string name, std::uint64_t type, std::uint32_t size, data_mover* mover,
                            const link_address& a) {
    Index i{};
    from_bytes(a.index, i);
    return new channel_link_to(std::move(name), type, size, mover, a.array, std::move(i), a.peer_port);
  }
  inline static const link_kind kind_of_link_{hash_bytes(pretty_type<Index>()), &make};
};

}  // namespace imbrex::detail
