#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "imbrex/base/clock.h"
#include "imbrex/object/entry_message.h"

/// A broadcast: down the PE tree rooted at the sender, then to the elements of each PE in slices, so that messages
/// which move data get their turn in between.
namespace imbrex {

namespace detail {

/// The invocations of one broadcast on one PE; stands in the ready queue between slices.
template <auto M>
class local_broadcast : public work {
 public:
  using args_tuple = detail::travelling_args<typename entry<M>::args>;

  static void begin(scheduler& pe, std::vector<element_base*> elements, std::shared_ptr<const args_tuple> args,
                    priority p) {
    if (elements.empty()) return;
    auto* b = new local_broadcast(std::move(elements), std::move(args));
    b->act = &local_broadcast::perform;
    b->set_priority(p);
    b->slice(pe);
  }

 private:
  static constexpr std::int64_t slice_ns = 20'000;

  local_broadcast(std::vector<element_base*> elements, std::shared_ptr<const args_tuple> args)
      : elements_(std::move(elements)), args_(std::move(args)) {}

  static void perform(work* w, work_action action) {
    auto* b = static_cast<local_broadcast*>(w);
    if (action == work_action::discard) {
      delete b;
      return;
    }
    scheduler& pe = scheduler::current();
    pe.end_operation();
    b->slice(pe);
  }

  void slice(scheduler& pe) {
    const std::int64_t start = now_ns();
    std::size_t since_look = 0;
    while (next_ < elements_.size()) {
      element_base& e = *elements_[next_++];
      if (e.object != nullptr) {
        args_tuple args = *args_;
        if (pe.track != nullptr) [[unlikely]]
          pe.track->begin(entry<M>::name(), trace_category::entry);
        invoke<M>(pe, e, args, reply_to{});
        if (pe.track != nullptr) [[unlikely]]
          pe.track->end();
      }
      if (++since_look < 8 && next_ < elements_.size()) continue;
      since_look = 0;
      if (next_ < elements_.size() && now_ns() - start > slice_ns) {
        pe.begin_operation();
        pe.post_here(this);
        return;
      }
    }
    delete this;
  }

  std::vector<element_base*> elements_;
  std::shared_ptr<const args_tuple> args_;
  std::size_t next_ = 0;
};

}  // namespace detail

template <auto M, class Index>
struct broadcast_body {
  using args_tuple = detail::travelling_args<typename entry<M>::args>;
  static constexpr bool may_part = detail::may_leave_out<args_tuple>;

  pe_id root = no_pe;
  collection_id array;
  section_id section;
  std::int8_t level = 0;
  std::shared_ptr<const args_tuple> args;  ///< shared by the PEs of a process

  void operator()(scheduler& pe) {
    pe.relay(*this, priority(level));
    deliver(pe);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & section & level;
    if constexpr (Archive::is_loading) {
      auto mine = std::make_shared<args_tuple>();
      ar& beside(*mine);
      args = std::move(mine);
    } else {
      ar& beside(*args);
    }
  }

 private:
  void deliver(scheduler& pe);
};

/// The second half alone, for what had to wait for its array or section to be known here.
template <auto M, class Index>
struct late_broadcast_body {
  collection_id array;
  section_id section;
  std::int8_t level = 0;
  std::shared_ptr<const detail::travelling_args<typename entry<M>::args>> args;

  void operator()(scheduler& pe) {
    array_part<Index>* part = find_part<Index>(pe, array);
    if (part == nullptr || !part->complete()) {
      pe.hold_for_collection(array, std::move(*this));
      return;
    }
    if (section.whole_array()) {
      detail::local_broadcast<M>::begin(pe, part->here(), args, priority(level));
      return;
    }
    section_part& s = part->add_section(section);
    if (!s.announced) {
      pe.count_created();
      s.held.push_back(active_message<late_broadcast_body>::make(priority(level), std::move(*this)));
      return;
    }
    std::vector<element_base*> here;
    for (element_base* e : s.members) {
      if (e->object != nullptr) {
        here.push_back(e);
      } else {
        send_copy(pe, static_cast<element<Index>*>(e)->index);
      }
    }
    detail::local_broadcast<M>::begin(pe, std::move(here), args, priority(level));
  }
  template <class Archive>
  void serialize(Archive&) {}  // never leaves its PE

 private:
  void send_copy(scheduler& pe, const Index& i) {
    std::apply([&](const auto&... a) { send_entry<M>(pe, array, i, priority(level), reply_to{}, a...); }, *args);
  }
};

template <auto M, class Index>
void broadcast_body<M, Index>::deliver(scheduler& pe) {
  late_broadcast_body<M, Index>{array, section, level, std::move(args)}(pe);
}

/// Invokes `M` on all elements of array `c` (of section `s` of it): on those that exist when it reaches their PE.
template <auto M, class Index, class... A>
void broadcast_entry(scheduler& pe, collection_id c, section_id s, priority p, A&&... a) {
  using body = broadcast_body<M, Index>;
  static_assert(std::is_copy_constructible_v<typename body::args_tuple>,
                "imbrex: the arguments of a broadcast are copied to every element, so their types must be copyable");
  body b;
  b.array = c;
  b.section = s;
  b.level = static_cast<std::int8_t>(p.value);
  auto args = std::make_shared<typename body::args_tuple>(std::forward<A>(a)...);
  detail::leave_pe(*args);
  b.args = std::move(args);
  pe.spread(std::move(b), p);
}

}  // namespace imbrex
