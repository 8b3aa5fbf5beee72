#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/object/broadcast.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/create.h"
#include "imbrex/object/entry/argument_values.h"
#include "imbrex/object/entry/index_holder.h"
#include "imbrex/object/insertion.h"
#include "imbrex/object/reduction.h"
#include "imbrex/object/section_impl.h"
#include "imbrex/object/singles_part.h"
#include "imbrex/pe/reply_impl.h"

/// Proxies: the names by which chares speak to each other. Plain values: copy them, keep them, send them in messages.
/// Used on PEs only (in entry methods, constructors and the main chare).
namespace imbrex {

namespace detail {
/// Whether this PE knows that an element has ended.
template <class Index>
bool has_ended(scheduler& pe, collection_id array, const Index& i) {
  array_part<Index>* const part = find_part<Index>(pe, array);
  if (part == nullptr) return false;
  if constexpr (std::is_same_v<Index, no_index>) {
    return part->home(i) == pe.id() && part->find(i) == nullptr && part->was_made(i);
  } else {
    return part->record(i).state == presence::deleted;
  }
}

/// `co_await proxy.call<M>(...)`: sends the request when the coroutine suspends.
template <class E, class Index>
class call_awaiter : public reply_awaiter<typename E::result> {
 public:
  using args_tuple = typename E::args;
  call_awaiter(collection_id array, Index index, priority p, args_tuple&& args)
      : array_(array), index_(std::move(index)), priority_(p), args_(std::move(args)) {}

  void await_suspend(std::coroutine_handle<> h) {
    const reply_to r =
        this->expect_anywhere(h, [](const waiter* w) { return static_cast<const call_awaiter*>(w)->text(); });
    std::apply([&](auto&... a) { send_entry<E>(scheduler::current(), array_, index_, priority_, r, std::move(a)...); },
               args_);
  }
  typename E::result await_resume() { return this->take(); }

 private:
  std::string text() const {
    scheduler& pe = scheduler::current();
    std::string of = fmt::format("the reply of {}", shown_name<E>(pe, array_, index_, args_));
    if constexpr (!std::is_same_v<Index, no_index>) of += fmt::format(" from element {}", to_text(index_));
    return has_ended(pe, array_, index_) ? of + ", which has ended" : of;
  }

  collection_id array_;
  Index index_;
  priority priority_;
  args_tuple args_;
};

template <class E, class Index>
struct call_request {
  using awaiter = call_awaiter<E, Index>;
  collection_id array;
  Index index;
  priority urgency;
  typename E::args args;
  awaited_once once = {};
  awaiter operator co_await() {
    once.begin();
    return awaiter(array, std::move(index), urgency, std::move(args));
  }
};

/// `co_await array.reduction<T>()`.
template <class T>
class reduction_awaiter : public reply_awaiter<T> {
 public:
  reduction_awaiter(const reduction_id& which, pe_id root) : which_(which), root_(root) {}
  void await_suspend(std::coroutine_handle<> h) {
    const reply_to r = this->expect_anywhere(
        h, [](const waiter* w) { return text_of_result(static_cast<const reduction_awaiter*>(w)->which_); });
    scheduler::current().send(root_, reduction_request{which_, type_name<T>(), r}, priorities::communication);
  }
  T await_resume() { return this->take(); }

 private:
  reduction_id which_;
  pe_id root_;
};

template <class T>
struct reduction_wait {
  reduction_id which;
  pe_id root;
  reduction_awaiter<T> operator co_await() const { return reduction_awaiter<T>(which, root); }
};

/// To the element's home.
template <class C, class... Args>
void send_insertion(insert_body<C, Args...>&& body) {
  scheduler& pe = scheduler::of_caller();
  const auto* const part = find_part<typename C::index_type>(pe, body.array);
  const pe_id home = part != nullptr ? part->home_or(body.index, pe.id()) : pe.id();
  if (part != nullptr) body.history = part->history_here();
  pe.send(home, std::move(body), priorities::communication);
}

/// `co_await array.insert(...)`.
template <class C, class... Args>
class insert_awaiter : public reply_awaiter<void> {
 public:
  explicit insert_awaiter(insert_body<C, Args...>&& b) : body_(std::move(b)) {}
  void await_suspend(std::coroutine_handle<> h) {
    body_.reply = this->expect_anywhere(h, [](const waiter*) { return std::string("the insertion of an element"); });
    send_insertion(std::move(body_));
  }
  void await_resume() { this->take(); }

 private:
  insert_body<C, Args...> body_;
};

/// The insertion happens whether or not it is awaited.
template <class C, class... Args>
class insertion {
 public:
  explicit insertion(insert_body<C, Args...>&& b) : body_(std::move(b)) {}
  insertion(insertion&& other) noexcept
      : body_(std::move(other.body_)), pending_(std::exchange(other.pending_, false)) {}
  insertion& operator=(insertion&&) = delete;
  ~insertion() {
    if (pending_) send_insertion(std::move(body_));
  }
  insert_awaiter<C, Args...> operator co_await() {
    if (!pending_) throw_awaited_before();
    pending_ = false;
    return insert_awaiter<C, Args...>(std::move(body_));
  }

 private:
  insert_body<C, Args...> body_;
  bool pending_ = true;
};

template <auto M, class C, class... A>
constexpr void check_entry() {
  [&]<class... P>(std::type_identity<std::tuple<P...>>) {
    static_assert((std::is_default_constructible_v<P> && ...),
                  "imbrex: the type of an argument has no default constructor, and is read into one where it arrives");
    static_assert(
        (std::is_move_constructible_v<P> && ...),
        "imbrex: the type of an argument can neither be moved nor copied, as into a message: send what it has");
  }(std::type_identity<typename entry<M>::args>());
  static_assert(std::is_base_of_v<typename entry<M>::class_type, C>,
                "imbrex: this entry method belongs to another chare type than the proxy");
  static_assert(sizeof...(A) == std::tuple_size_v<typename entry<M>::args>,
                "imbrex: this entry method takes another number of arguments: all are given, also those that have "
                "defaults, which belong to a call by name");
  static_assert(sizeof...(A) != std::tuple_size_v<typename entry<M>::args> || entry<M>::template accepts<A...>,
                "imbrex: the arguments given do not match the parameters of this entry method in type");
}
}  // namespace detail

/// One element of an array, or a singleton chare. Proxies may name a class that is only declared, as members of classes
/// that know each other; it must be complete where they are used.
template <class C>
class element_proxy {
 public:
  using chare_type = C;

  element_proxy() = default;
  template <class Index>
  element_proxy(collection_id array, Index i) : element_proxy(array, std::move(i), priority{}) {}
  /// The same, spoken to with priority `p`.
  template <class Index>
  element_proxy(collection_id array, Index i, priority p)
      : array_(array), index_(detail::index_holder::of<typename C::index_type>(std::move(i))), priority_(p) {}

  /// Invokes entry method (or slot) `M` there, asynchronously: the arguments are moved or copied into a message now;
  /// an element of this process gets them as they are, one of another rank gets them serialised.
  /// Messages from one element to another with equal priority arrive in order while neither moves (and unless
  /// `--imbrex-schedule-seed` asks for random schedules).
  template <auto M, class... A>
  void send(A&&... a) const {
    detail::check_entry<M, C, A...>();
    detail::check_arguments<entry<M>>(a...);
    send_entry<entry<M>>(scheduler::of_caller(), array_, index(), priority_, reply_to{}, std::forward<A>(a)...);
  }

  /// Invokes `M` and, when awaited, gives its result; an exception that leaves it is thrown here.
  template <auto M, class... A>
  [[nodiscard("co_await it, or use send")]] auto call(A&&... a) const {
    detail::check_entry<M, C, A...>();
    detail::check_arguments<entry<M>>(a...);
    static_assert(entry<M>::kind != entry_kind::slot, "imbrex: a when slot has no result to wait for: use send");
    return detail::call_request<entry<M>, typename C::index_type>{array_, index(), priority_,
                                                                  typename entry<M>::args(std::forward<A>(a)...)};
  }

  /// The same element, spoken to with another priority.
  element_proxy with(priority p) const {
    element_proxy other = *this;
    other.priority_ = p;
    return other;
  }

  /// Ends the element, wherever it is.
  void erase() const { send<&C::destroy>(); }

  collection_id array_id() const { return array_; }
  decltype(auto) index() const { return index_.template get<typename C::index_type>(); }

  template <class Archive>
  void serialize(Archive& ar) {
    auto i = index();
    ar & array_ & i & priority_.value;
    if constexpr (Archive::is_loading) index_ = detail::index_holder::of(std::move(i));
  }

 private:
  collection_id array_;
  detail::index_holder index_;
  priority priority_;
};

/// A subset of an array, with broadcast and reductions of its own. A member that ends leaves it; one that moves stays.
/// The section lives until `free`.
template <class C>
class section_proxy {
 public:
  section_proxy() = default;
  section_proxy(collection_id array, section_id s) : array_(array), section_(s) {}

  /// Invokes `M` on every member, exactly once; each gets copies of the arguments. Travels along a tree of the PEs that
  /// are home of a member. Broadcasts of one PE to the same section with equal priority are heard in order.
  template <auto M, class... A>
  void broadcast(A&&... a) const {
    detail::check_entry<M, C, A...>();
    detail::check_arguments<entry<M>>(a...);
    broadcast_entry<entry<M>, typename C::index_type>(scheduler::of_caller(), array_, section_, priority_,
                                                      std::forward<A>(a)...);
  }
  /// The next result contributed to this section without another target.
  template <class T>
  [[nodiscard]] detail::reduction_wait<T> reduction() const {
    return {reduction_id{array_, section_, 0}, scheduler::of_caller().standing_for(section_.creator)};
  }
  /// The same section, spoken to with another priority.
  section_proxy with(priority p) const {
    section_proxy other = *this;
    other.priority_ = p;
    return other;
  }
  /// Ends the section, once what was sent to it before has passed; what is broadcast or contributed later is dropped.
  void free() const {
    scheduler& pe = scheduler::of_caller();
    pe.send(pe.standing_for(section_.creator), section_end{array_, section_}, priorities::normal);
  }

  collection_id array_id() const { return array_; }
  section_id id() const { return section_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array_ & section_ & priority_.value;
  }

 private:
  collection_id array_;
  section_id section_;
  priority priority_;
};

/// A chare array or group.
template <class C>
class array_proxy {
 public:
  static constexpr bool names_array = true;

  using chare_type = C;

  array_proxy() = default;
  explicit array_proxy(collection_id array) : array_(array) {}

  /// One element, spoken to with this proxy's priority.
  template <class T = C>
  element_proxy<T> operator[](typename T::index_type i) const {
    return element_proxy<T>(array_, std::move(i), priority_);
  }

  /// Invokes `M` on every element that exists when the broadcast reaches its PE, exactly once, also on those that move
  /// meanwhile; each gets copies of the arguments. Broadcasts of one PE with equal priority are heard in order, and
  /// before what that PE sends to single elements with this priority afterwards.
  template <auto M, class... A>
  void broadcast(A&&... a) const {
    detail::check_entry<M, C, A...>();
    detail::check_arguments<entry<M>>(a...);
    broadcast_entry<entry<M>, typename C::index_type>(scheduler::of_caller(), array_, section_id{}, priority_,
                                                      std::forward<A>(a)...);
  }
  /// The same array, spoken to with another priority.
  array_proxy with(priority p) const {
    array_proxy other = *this;
    other.priority_ = p;
    return other;
  }

  /// The next result that the elements contributed without another target; results are taken in the order of the
  /// reductions, each by one awaiter, from any PE.
  template <class T>
  [[nodiscard("co_await it")]] detail::reduction_wait<T> reduction() const {
    return {reduction_id{array_, section_id{}, 0}, scheduler::of_caller().standing_for(array_.creator)};
  }

  /// Creates element `i` on its home PE while the program runs. When awaited: it exists. It takes part in reductions
  /// from the first one on that is not complete when it is counted in, also if others have contributed to that already.
  /// It hears no broadcast that this PE has begun or heard before. While an element of this index exists the new one
  /// waits for its end; when nothing else can happen any more, that is a `usage_error`.
  template <class T = C, class... A>
  auto insert(typename T::index_type i, A&&... args) const {
    return insertion_of<T>(no_pe, false, std::move(i), std::forward<A>(args)...);
  }
  /// The same on a PE of the caller's choice.
  template <class T = C, class... A>
  auto insert_on(pe_id pe, typename T::index_type i, A&&... args) const {
    if (pe < 0 || pe >= scheduler::of_caller().num_pes()) {
      throw usage_error(fmt::format("an element of {} cannot be inserted on PE {}: the PEs are 0 to {}",
                                    detail::type_name<C>(), pe, scheduler::current().num_pes() - 1));
    }
    return insertion_of<T>(pe, false, std::move(i), std::forward<A>(args)...);
  }
  /// As `insert`, but an element that exists already is as good: for those who want to send to it (creation on demand).
  template <class T = C, class... A>
  auto insert_if_absent(typename T::index_type i, A&&... args) const {
    return insertion_of<T>(no_pe, true, std::move(i), std::forward<A>(args)...);
  }

  /// Ends all elements that exist; what is sent to them later is an error, as to single elements that have ended.
  void destroy() const { broadcast<&C::destroy>(); }

  /// Makes a subset of elements that exist; an index named twice is one member. Told to the PEs that are home of one.
  /// Throws `usage_error` for one without members, and for an index outside the extent if this PE has heard of the
  /// array.
  template <class T = C>
  section_proxy<T> section(std::vector<typename T::index_type> members) const {
    scheduler& pe = scheduler::of_caller();
    if (members.empty()) detail::refuse_empty_section();
    if (const auto* const part = find_part<typename T::index_type>(pe, array_); part != nullptr) {
      for (const auto& i : members) static_cast<void>(part->home(i));
    }
    const section_id s = chare_pe::of(pe).new_section_id();
    pe.send(pe.id(), section_request<typename T::index_type>{array_, s, std::move(members)}, priorities::communication);
    return section_proxy<T>(array_, s);
  }

  /// The element `i` if it lives on this PE; null when it does not. Valid until the caller's entry method returns or
  /// waits.
  template <class T = C>
  T* local(const typename T::index_type& i) const {
    auto* part = find_part<typename T::index_type>(scheduler::of_caller(), array_);
    return part != nullptr ? static_cast<T*>(part->record(i).object) : nullptr;
  }
  /// Of a group: the element of this PE, which lives as long as the group and does not move. It is there in
  /// constructors and entry methods that have the proxy as an argument, and ever after on their PE. Throws
  /// `usage_error` where this PE has not heard of the group yet, as of one whose proxy was inside of another argument,
  /// or where it has none.
  template <class T = C>
  T* local_branch() const {
    static_assert(std::is_same_v<typename T::index_type, index1d>, "imbrex: a chare of a group has index1d");
    T* const own = local<T>(scheduler::of_caller().id());
    if (own == nullptr) [[unlikely]]
      detail::refuse_branch(detail::type_name<C>());
    return own;
  }

  collection_id id() const { return array_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array_ & priority_.value;
  }

 private:
  template <class T, class... A>
  detail::insertion<T, detail::kept_argument<A>...> insertion_of(pe_id pe, bool if_absent, typename T::index_type i,
                                                                 A&&... args) const {
    static_assert(std::is_constructible_v<T, const detail::kept_argument<A>&...>,
                  "imbrex: this chare has no constructor for these arguments");
    if (array_.creator == no_pe) scheduler::refuse_pe(array_.creator);
    return detail::insertion<T, detail::kept_argument<A>...>(insert_body<T, detail::kept_argument<A>...>{
        array_, std::move(i), pe, if_absent, reply_to{}, {std::forward<A>(args)...}, {}, 0});
  }

  collection_id array_;
  priority priority_;
};

/// \name Targets of a reduction's result other than `co_await array.reduction<T>()`
///@{
template <auto M, class C>
to_element<entry<M>, typename C::index_type> deliver(const element_proxy<C>& p) {
  return {p.array_id(), p.index()};
}
template <auto M, class C>
to_all<entry<M>, typename C::index_type> deliver(const array_proxy<C>& p) {
  return {p.id()};
}
/// The same for a `when` slot, under the reference number `reference` (the same from all contributors).
template <auto M, class C, class Ref>
to_slot_of_element<entry<M>, typename C::index_type, Ref> deliver(const element_proxy<C>& p, Ref reference) {
  return {p.array_id(), p.index(), reference};
}
template <auto M, class C, class Ref>
to_slot_of_all<entry<M>, typename C::index_type, Ref> deliver(const array_proxy<C>& p, Ref reference) {
  return {p.id(), reference};
}
///@}

}  // namespace imbrex
