#pragma once

#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/object/collection.h"
#include "imbrex/object/entry_message.h"

/// How collections and their elements come to be, end and move.
namespace imbrex {

namespace detail {

/// The type in which a constructor's argument is kept and sent: a copy; a text literal becomes a string.
template <class A>
using kept_argument =
    std::conditional_t<std::is_convertible_v<std::decay_t<A>, const char*> && std::is_pointer_v<std::decay_t<A>>,
                       std::string, std::decay_t<A>>;

/// Makes the object of element `e` with copies of `args`. An exception in its constructor ends the job.
template <class C, class Tuple, class Index>
bool construct_element(scheduler& pe, array_part<Index>& part, element<Index>& e, const Tuple& args) {
  void* memory = nullptr;
  try {
    memory = C::allocate_object();
    pe.constructing = &e;
    pe.constructing_type = C::type_name();
    C* object = std::apply([&](const auto&... a) { return new (memory) C(a...); }, args);
    pe.constructing_type = nullptr;
    e.where = pe.id();
    part.settle(e, object);
    return true;
  } catch (...) {
    pe.constructing = nullptr;
    pe.constructing_type = nullptr;
    if (memory != nullptr) C::free_object(memory);
    pe.fail_entry(&e, "the constructor", std::current_exception());
    return false;
  }
}

/// How many of `counts` lie in the subtree of `pe` in the PE tree rooted at `root`.
std::uint64_t count_below(const scheduler& on, pe_id pe, pe_id root, const std::vector<std::uint64_t>& counts);

}  // namespace detail

/// Creates this PE's part of a new collection and the elements whose home this is.
template <class C, class Map, class... Args>
struct create_body {
  using Index = typename C::index_type;

  pe_id root = no_pe;
  collection_id id;
  array_shape<Index, Map> shape;
  std::shared_ptr<const std::tuple<Args...>> args;

  bool announced = false;  ///< on the creator: the part is there already

  void operator()(scheduler& pe) {
    if (!announced) announce(pe);
    auto& part = *find_part<Index>(pe, id);
    if constexpr (is_grid_index<Index> && std::is_constructible_v<C, const Args&...>) {
      if (shape.filled) fill(pe, part);
    }
    part.set_complete();
    pe.release_held(id);
  }

  /// Passes the news on and makes this PE's part, still without elements. The creator does this at once: what it sends
  /// from then on takes the same way, first to last.
  void announce(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    announced = true;
    auto owned = std::make_unique<mapped_part<Index, Map>>(pe, id, C::type_name(), shape);
    mapped_part<Index, Map>& part = *owned;
    pe.add_collection(std::move(owned));
    if (!shape.filled) {
      part.set_changing();
      part.reductions().expect(0, 0);
    }
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & id & shape.extent & shape.map & shape.filled;
    if constexpr (Archive::is_loading) {
      std::tuple<Args...> mine;
      ar & mine;
      args = std::make_shared<const std::tuple<Args...>>(std::move(mine));
    } else {
      ar&* args;
    }
  }

 private:
  void fill(scheduler& pe, array_part<Index>& part) {
    const std::uint64_t n = volume(shape.extent);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(pe.num_pes()), 0);
    for (std::uint64_t l = 0; l < n; ++l) {
      const Index i = from_linear(l, shape.extent);
      const pe_id home = map_to_pe(shape.map, i, shape.extent, pe.num_pes());
      if (home >= 0 && home < pe.num_pes()) ++counts[static_cast<std::size_t>(home)];
      if (home == pe.id() || home < 0 || home >= pe.num_pes()) {
        if (!detail::construct_element<C>(pe, part, part.record(i), *args)) return;
      }
    }
    part.reductions().expect(detail::count_below(pe, pe.id(), root, counts), n);
  }
};

/// From now on elements of the collection come, go or move.
struct changing_body {
  pe_id root = no_pe;
  collection_id array;
  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array;
  }
};

/// The same for a part that did not exist yet.
struct late_changing {
  collection_id array;
  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive&) {}  // never leaves its PE
};

/// At the collection's root: an element ended.
struct death_body {
  collection_id array;
  std::uint32_t first_missing = 0;
  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & first_missing;
  }
};

/// A new element. Goes to where the index is claimed: its home, or the element that has it already; then to its PE.
template <class C, class... Args>
struct construct_body {
  using Index = typename C::index_type;
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;
  std::uint32_t first_reduction = 0;
  pe_id where = no_pe;
  bool claimed = false;
  reply_to reply;
  std::tuple<Args...> args;

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      pe.hold_for_collection(array, std::move(*this));
      return;
    }
    element<Index>& e = part->record(index);
    if (e.object != nullptr) {
      pe.send(part->root(), death_body{array, first_reduction}, priorities::communication);
      refuse<void>(pe, reply, fmt::format("{} was inserted, but it exists already", part->text(e)));
      return;
    }
    if (!claimed && !claim(pe, *part, e)) return;
    e.next_reduction = first_reduction;
    e.epoch = epoch;
    if (!detail::construct_element<C>(pe, *part, e, args)) return;
    if (reply.wanted()) send_reply<void>(pe, reply, std::monostate{});
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch & first_reduction & where & claimed & reply & args;
  }

 private:
  /// True when the element is to be made here; else this has been sent on.
  bool claim(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    pe_id next = next_stop(pe, e, part.home(index));
    if (next == no_pe) {
      claimed = true;
      if (where == no_pe || where == pe.id()) return true;
      next = where;
      e.epoch = epoch;
      e.where = where;
      e.state = presence::elsewhere;
    }
    pe.send(next, std::move(*this), priorities::communication);
    if (claimed) part.release_held(e);
    return false;
  }
};

/// The wish to insert, at the collection's root, which counts the element in before it exists: every reduction that is
/// not complete by then includes it.
template <class C, class... Args>
struct insert_body {
  using Index = typename C::index_type;
  collection_id array;
  Index index{};
  pe_id where = no_pe;
  reply_to reply;
  std::tuple<Args...> args;

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      pe.hold_for_collection(array, std::move(*this));
      return;
    }
    pe_id home = no_pe;
    try {
      home = part->home(index);
    } catch (const usage_error& e) {
      refuse<void>(pe, reply, e.what());
      return;
    }
    if (!part->changing()) pe.spread(changing_body{pe.id(), array}, priorities::communication);
    const std::uint32_t first = part->reductions().element_born();
    pe.send(home,
            construct_body<C, Args...>{array, index, part->new_epoch(), first, where, false, reply, std::move(args)},
            priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & where & reply & args;
  }
};

/// Passes `body` on to where `e`, which left this PE, is now; drops it when `e` has ended.
template <class Index, class H>
void follow(scheduler& pe, array_part<Index>& part, const element<Index>& e, H&& body) {
  if (e.state == presence::deleted) return;
  const pe_id next = next_stop(pe, e, part.home(e.index));
  if (next != no_pe) pe.send(next, std::forward<H>(body), priorities::communication);
}

/// False when nothing is queued in, or arriving at, the streams of `e`, which lives here. Else `body` is sent to this
/// PE again once that is so.
template <class H>
bool wait_for_streams(scheduler& pe, element_base& e, const H& body) {
  stream_set* const streams = chare_access::streams(*e.object);
  if (streams == nullptr || streams->idle()) return false;
  streams->when_idle([&pe, body] { pe.send(pe.id(), body, priorities::communication); });
  return true;
}

/// Ends an element, from its PE's loop: not while one of its methods runs.
template <class Index>
struct end_body {
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;  ///< of the element that is meant, not of one inserted in its place later

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      pe.hold_for_collection(array, std::move(*this));
      return;
    }
    element<Index>& e = part->record(index);
    if (e.object == nullptr) {
      follow(pe, *part, e, std::move(*this));
      return;
    }
    if (e.epoch >> 32 != epoch >> 32) return;
    if (wait_for_streams(pe, e, *this)) return;
    const std::uint32_t first_missing = e.next_reduction;
    ++e.epoch;
    part->unsettle(e, presence::deleted, part->home(index));
    pe.send(part->root(), death_body{array, first_missing}, priorities::communication);
    if (part->home(index) != pe.id()) {
      pe.send(part->home(index), location_update<Index>{array, index, no_pe, e.epoch, true}, priorities::communication);
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch;
  }
};

/// An element that moves, on its way.
template <class C>
struct arrive_body {
  using Index = typename C::index_type;
  static constexpr bool may_part = true;
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;
  std::uint32_t next_reduction = 0;
  std::vector<std::pair<section_id, std::uint32_t>> section_reductions;
  std::vector<std::byte> state;

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      pe.hold_for_collection(array, std::move(*this));
      return;
    }
    element<Index>& e = part->record(index);
    e.epoch = epoch;
    e.next_reduction = next_reduction;
    e.more().section_reductions = std::move(section_reductions);
    if (!detail::construct_element<C>(pe, *part, e, std::tuple<>{})) return;
    from_bytes(state, *static_cast<C*>(e.object));
    const pe_id home = part->home(index);
    if (home != pe.id()) {
      pe.send(home, location_update<Index>{array, index, pe.id(), epoch, false}, priorities::communication);
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & epoch & next_reduction & section_reductions& beside(state);
  }
};

/// Moves an element, from its PE's loop.
template <class C>
struct move_body {
  using Index = typename C::index_type;
  collection_id array;
  Index index{};
  pe_id to = no_pe;

  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      pe.hold_for_collection(array, std::move(*this));
      return;
    }
    element<Index>& e = part->record(index);
    if (e.object == nullptr) {
      follow(pe, *part, e, std::move(*this));
      return;
    }
    if (to == pe.id()) return;
    if (e.activities != nullptr) {
      throw usage_error(fmt::format("{} cannot move to PE {}: its entry method {} is a coroutine that still waits",
                                    part->text(e), to, e.activities->name));
    }
    if (e.extras && e.extras->ports) {
      throw usage_error(fmt::format("{} cannot move to PE {}: it has open channels", part->text(e), to));
    }
    if (wait_for_streams(pe, e, *this)) return;
    if (!part->changing()) pe.spread(changing_body{pe.id(), array}, priorities::communication);
    arrive_body<C> body{array,
                        index,
                        ++e.epoch,
                        e.next_reduction,
                        std::move(e.more().section_reductions),
                        to_bytes(*static_cast<C*>(e.object))};
    part->unsettle(e, presence::elsewhere, to);
    pe.send(to, std::move(body), priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & to;
  }
};

/// Makes a subset of an array known to all PEs.
template <class Index>
struct announce_section {
  pe_id root = no_pe;
  collection_id array;
  section_id section;
  std::vector<Index> members;

  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    enter(pe);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & section & members;
  }

 private:
  struct late {
    announce_section what;
    void operator()(scheduler& pe) { what.enter(pe); }
    template <class Archive>
    void serialize(Archive&) {}  // never leaves its PE
  };
  void enter(scheduler& pe) {
    auto* part = find_part<Index>(pe, array);
    if (part == nullptr) {
      pe.hold_for_collection(array, late{std::move(*this)});
      return;
    }
    section_part& s = part->add_section(section);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(pe.num_pes()), 0);
    for (const Index& i : members) {
      const pe_id home = part->home(i);
      ++counts[static_cast<std::size_t>(home)];
      if (home == pe.id()) s.members.push_back(&part->record(i));
    }
    s.announced = true;
    s.reductions.expect(detail::count_below(pe, pe.id(), section.creator, counts), members.size());
    pe.post_in_front(std::exchange(s.held, {}));
  }
};

}  // namespace imbrex
