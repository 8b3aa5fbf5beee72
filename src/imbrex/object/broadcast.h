#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "imbrex/object/broadcast_messages.h"
#include "imbrex/object/collection/entry_message.h"

/// A broadcast to an entry method: what is compiled for each. How it spreads and is heard: broadcast_messages.h.
namespace imbrex {

namespace detail {

/// Entry E and the arguments of one broadcast.
template <class E>
class entry_call final : public broadcast_call {
 public:
  using args_tuple = travelling_args<typename E::args>;

  template <class... A>
  explicit entry_call(A&&... a);

  void invoke(scheduler& pe, element_base& e) const override {
    args_tuple args = args_;
    if (pe.track != nullptr) [[unlikely]]
      pe.track->begin(shown_name<E>(e, args), trace_category::entry);
    imbrex::invoke<E>(pe, e, args, reply_to{});
    if (pe.track != nullptr) [[unlikely]]
      pe.track->end();
  }
  collection_id to_come(scheduler& pe) const override {
    if constexpr (names_arrays<args_tuple>) return first_to_come(chare_pe::of(pe), args_);
    return {};
  }
  const char* name(const char* chare) const override {
    if constexpr (names_entry<E, args_tuple>) {
      return entry_name_of<E>(chare != nullptr ? chare : class_name<typename E::chare_type>(), args_);
    } else {
      return E::name();
    }
  }
  void size(sizing_archive& ar) const override { ar& beside(args_); }
  void write(output_archive& ar) const override { ar& beside(args_); }
  static shared_call read(input_archive& ar) {
    auto call = std::make_shared<entry_call>();
    ar& beside(call->args_);
    return call;
  }

  void leave_pe() { detail::leave_pe(args_); }

 private:
  args_tuple args_;
};

template <class E>
inline broadcast_kind broadcast_kind_of{typeid(E).name(), &entry_call<E>::read};

template <class E>
template <class... A>
entry_call<E>::entry_call(A&&... a) : broadcast_call(broadcast_kind_of<E>), args_(std::forward<A>(a)...) {}

}  // namespace detail

/// Invokes entry E on all elements of array `c`, or of section `s` of it.
template <class E, class Index>
void broadcast_entry(scheduler& pe, collection_id c, section_id s, priority p, auto&&... a) {
  using call = detail::entry_call<E>;
  static_assert(std::is_copy_constructible_v<typename call::args_tuple>,
                "imbrex: the arguments of a broadcast are copied to every element, so their types must be copyable");
  const auto made = std::make_shared<call>(std::forward<decltype(a)>(a)...);
  made->leave_pe();
  detail::begin_broadcast<Index>(pe, c, s, p, made);
}

}  // namespace imbrex
