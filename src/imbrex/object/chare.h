#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include "imbrex/device/host/host_device.h"
#include "imbrex/object/entry/when.h"
#include "imbrex/object/moving/move_request.h"
#include "imbrex/object/proxy.h"

namespace imbrex {

class runtime;

namespace detail {
/// Instantiated by what singletons have not.
template <class Index>
constexpr void check_in_array() {
  static_assert(
      !std::is_same_v<Index, no_index>,
      "imbrex: a singleton is in no array: it has no array(), extent(), sections, allreduce or barrier, and what "
      "it contributes needs a target, e.g. ix::deliver<&boss::told>(boss_proxy)");
}
}  // namespace detail

/// The base of every chare type: `class block : public imbrex::chare<block, imbrex::index3d>`. Without an index type
/// it is a singleton. A chare lives on one PE at a time and is only touched by that PE's thread: its methods never run
/// at the same time, so they need no locks. Members below are for use inside its own methods and constructor.
template <class Derived, class Index = no_index>
class chare : public chare_base {
 public:
  using index_type = Index;
  using class_named_as_derived = Derived;
  static_assert(std::equality_comparable<Index>, "imbrex: an index type needs operator==");

  /// Ends this element once its present entry method returns; its waiting coroutines are destroyed. Also an entry
  /// method. Messages that come later are a `usage_error` naming it.
  void destroy() {
    scheduler& pe = here();
    pe.send(pe.id(), end_body<Index>{array_id(), index(), element_->epoch}, priorities::communication);
  }

  const Index& index() const { return static_cast<const element<Index>*>(element_)->index; }
  /// This element, for others to send to.
  element_proxy<Derived> proxy() const { return element_proxy<Derived>(array_id(), index()); }
  /// All of the array this element belongs to.
  array_proxy<Derived> array() const {
    detail::check_in_array<Index>();
    return array_proxy<Derived>(array_id());
  }
  /// The extent the array was created with.
  const Index& extent() const {
    detail::check_in_array<Index>();
    return static_cast<array_part<Index>*>(element_->part)->extent();
  }

  pe_id pe() const { return scheduler::of_caller().id(); }
  int num_pes() const { return scheduler::of_caller().num_pes(); }
  rank_id rank() const { return scheduler::of_caller().rank().rank; }
  runtime& rt() const { return *scheduler::of_caller().rank().facade; }

  /// The device of this chare's data and kernels: its PE's GPU with `--imbrex-device cuda`, else its PE's host device.
  device& on_device() const { return *scheduler::of_caller().default_device; }
  /// Its PE's host device.
  device& on_host() const { return *scheduler::of_caller().host; }
  /// This chare's own streams on it: `compute` (low priority), `pack`, `unpack`, `to_host`, `to_device` (high).
  stream_set& streams() {
    if (!streams_) {
      streams_ = std::make_unique<stream_set>(on_device(), element_->part->text(*element_));
      streams_->follows_nobody();  // but the set goes along
    }
    return *streams_;
  }

  /// Adds `value` to this element's next reduction over its array; returns at once. All elements contribute the same
  /// type, operation and target. The result goes to `target`: kept for `co_await array.reduction<T>()`, or
  /// `deliver<&C::m>(proxy)`.
  template <class T, class Op, class Target = to_reduction>
  void contribute(T value, Op op, Target target = {}) {
    if constexpr (std::is_same_v<Target, to_reduction>) detail::check_in_array<Index>();
    scheduler& pe = here();
    if constexpr (std::is_same_v<Index, no_index>) {
      target(pe, reduction_id{}, std::move(value));  // alone
    } else {
      detail::contribute_to_array(*element_, std::move(value), op, target);
    }
  }
  /// Contributes nothing but its presence: the target is told when all elements have.
  template <class Target>
  void contribute(Target target) {
    contribute(std::monostate{}, detail::take_any{}, target);
  }
  /// The same over a section this element belongs to; numbered apart from the array's reductions.
  template <class T, class Op, class Target = to_reduction>
  void contribute(const section_proxy<Derived>& s, T value, Op op, Target target = {}) {
    detail::check_in_array<Index>();
    here();
    detail::contribute_to_section(*element_, s.id(), is_at_home(), std::move(value), op, target);
  }

  /// `T total = co_await allreduce(value, op)`: contributes and waits for the result, which all elements get.
  template <class T, class Op>
  detail::allreduce_wait<T, Op> allreduce(T value, Op op) {
    detail::check_in_array<Index>();
    return {this, section_id{}, true, std::move(value), op};
  }
  template <class T, class Op>
  detail::allreduce_wait<T, Op> allreduce(const section_proxy<Derived>& s, T value, Op op) {
    return {this, s.id(), is_at_home(), std::move(value), op};
  }
  /// `co_await barrier()`: until all elements of the array have come here.
  detail::allreduce_wait<std::monostate, detail::take_any> barrier() {
    return allreduce(std::monostate{}, detail::take_any{});
  }

  /// Moves this element to PE `to` as soon as that can be done, once its present entry method returns; a later call
  /// takes the place of one that has not been carried out. To a PE of this process it goes as it is, also while its
  /// coroutines wait for messages, replies and reductions, while it has channels and memory that it has lent is away:
  /// nothing is serialised, its addresses stay the same. It does not go while its streams are busy or it waits for a
  /// device; nor while it has futures or exposed memory; nor, in a process with GPUs, a channel to another process. To
  /// another process it is serialised by its `serialize`, destroyed, default-constructed there and read back, when none
  /// of its coroutines waits but at a `move_point`, and memory that it has lent is back; open channels go on
  /// (`channel`) at the ports that are opened again there. From when it was found that it cannot go yet, it sends
  /// copies. What it knows of its PE (`on_device()`, `on_host()`) it must ask for again; streams that it made itself go
  /// along inside a process, once they are idle. Hooks, where a class has them: `void about_to_move(pe_id to)` on the
  /// PE that it leaves, `void has_moved(pe_id from)` on the new one. Throws `usage_error` for a PE that there is not,
  /// when it is pinned, and when it is a group's.
  void migrate_to(pe_id to) {
    scheduler& pe = here();
    if (to < 0 || to >= pe.num_pes()) {
      throw usage_error(fmt::format("{} cannot move to PE {}: the PEs are 0 to {}", element_->part->text(*element_), to,
                                    pe.num_pes() - 1));
    }
    if (element_->part->stays())
      throw usage_error(fmt::format("{} cannot move to PE {}: an element of a group stays on its own",
                                    element_->part->text(*element_), to));
    if (is_pinned())
      throw usage_error(
          fmt::format("{} cannot move to PE {}: it is pinned to PE {}", element_->part->text(*element_), to, pe.id()));
    move_requests::of(chare_pe::of(pe))
        .keep(*element_, active_message<move_body<Index>>::make(priorities::communication,
                                                                move_body<Index>{array_id(), index(), to}));
  }
  /// From now on it stays on its PE, also when loads are balanced, until `unpin`. A move that is wished for and was not
  /// carried out yet is forgotten.
  void pin() {
    element_->more().pinned = true;
    move_requests::forget(chare_pe::current(), *element_);
    move_requests::go_on_at_points(*element_);
  }
  void unpin() {
    if (element_->extras) element_->extras->pinned = false;
  }
  bool is_pinned() const { return element_->extras && element_->extras->pinned; }

 private:
  collection_id array_id() const { return element_->part->id(); }
  /// The PE that this element is on, whose thread calls; throws `usage_error` on others.
  scheduler& here() const {
    scheduler& pe = scheduler::of_caller();
    if (&pe != &element_->part->pe()) [[unlikely]]
      detail::refuse_pe_of_caller(*element_, pe);
    return pe;
  }
  bool is_at_home() const {
    return static_cast<array_part<Index>*>(element_->part)->home(index()) == scheduler::current().id();
  }
};

}  // namespace imbrex
