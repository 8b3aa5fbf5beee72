#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "imbrex/object/proxy.h"
#include "imbrex/pe/future_table.h"

/// "Tell me when it is done" as a value: who takes a callback need not know who is behind it.
namespace imbrex {

template <class... A>
class callback;

namespace detail {

/// A kind of receiver behind callbacks. One object per kind, registered before main and numbered like the handlers of
/// messages.
struct callback_kind {
  callback_kind(const char* name, void (*invoke_)()) : type_name(name), invoke(invoke_) { registry().push_back(this); }

  const char* type_name;
  void (*invoke)();          ///< a `void (*)(scheduler&, const std::vector<std::byte>& receiver, A&&...)`
  std::uint32_t number = 0;  ///< the same on every rank

  static std::vector<callback_kind*>& registry();
  /// Numbers the kinds; returns a digest of their names.
  static std::uint64_t seal();
};

template <class Receiver, class... A>
void invoke_receiver(scheduler& pe, const std::vector<std::byte>& bytes, A&&... a) {
  Receiver r{};
  from_bytes(bytes, r);
  r.take(pe, std::move(a)...);
}
template <class Receiver, class... A>
inline callback_kind callback_kind_of{
    typeid(std::tuple<Receiver, A...>).name(),
    reinterpret_cast<void (*)()>(
        static_cast<void (*)(scheduler&, const std::vector<std::byte>&, A&&...)>(&invoke_receiver<Receiver, A...>))};

/// \name Receivers
///@{
template <class E, class Index>
struct element_receiver {
  collection_id array;
  Index index{};
  template <class... A>
  void take(scheduler& pe, A&&... a) const {
    check_arguments<E>(a...);
    send_entry<E>(pe, array, index, priorities::normal, reply_to{}, std::move(a)...);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index;
  }
};
template <class E, class Index>
struct array_receiver {
  collection_id array;
  section_id section;
  template <class... A>
  void take(scheduler& pe, A&&... a) const {
    check_arguments<E>(a...);
    broadcast_entry<E, Index>(pe, array, section, priorities::normal, std::move(a)...);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section;
  }
};
template <class... A>
struct future_receiver {
  pe_id pe = no_pe;
  std::uint64_t id = 0;
  void take(scheduler& from, A&&... a) const {
    from.send(pe, future_body<A...>{id, std::tuple<A...>(std::move(a)...)}, priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & id;
  }
};
///@}

}  // namespace detail

/// Whom to tell, as a value: an entry method or slot of an element, of all elements of an array or section, or a
/// `future`. Can be copied, kept and sent; an empty one tells nobody. Also a target of reductions:
///
///     void solve(ix::callback<double> done);                                   // the library's entry method
///     solvers[0].send<&solver::solve>(ix::callback<double>::to<&mine::solved>(proxy()));
///     contribute(residual, ix::max, done);                                     // or: done.send(residual)
template <class... A>
class callback {
 public:
  callback() = default;

  /// Entry method or slot `M` of an element.
  template <auto M, class C>
  static callback to(const element_proxy<C>& p) {
    detail::check_entry<M, C, A...>();
    return make(detail::element_receiver<entry<M>, typename C::index_type>{p.array_id(), p.index()});
  }
  /// The same of all elements.
  template <auto M, class C>
  static callback to(const array_proxy<C>& p) {
    detail::check_entry<M, C, A...>();
    return make(detail::array_receiver<entry<M>, typename C::index_type>{p.id(), section_id{}});
  }
  template <auto M, class C>
  static callback to(const section_proxy<C>& p) {
    detail::check_entry<M, C, A...>();
    return make(detail::array_receiver<entry<M>, typename C::index_type>{p.array_id(), p.id()});
  }

  explicit operator bool() const { return kind_ != none; }

  /// Tells; returns at once. On a PE only.
  void send(A... a) const { tell(scheduler::of_caller(), std::move(a)...); }

  /// As the target of a reduction.
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    if constexpr (sizeof...(A) == 0) {
      tell(pe);
    } else {
      static_assert(std::is_constructible_v<std::tuple<A...>, T>,
                    "imbrex: the callback takes other arguments than this reduction gives");
      tell(pe, std::forward<T>(value));
    }
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind_ & receiver_;
  }

 private:
  template <class...>
  friend class future;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  template <class Receiver>
  static callback make(Receiver r) {
    callback c;
    c.kind_ = detail::callback_kind_of<Receiver, A...>.number;
    c.receiver_ = to_bytes(r);
    return c;
  }
  void tell(scheduler& pe, A... a) const {
    if (kind_ == none) return;
    const auto& kinds = detail::callback_kind::registry();
    if (kind_ >= kinds.size()) throw usage_error("a callback came from a rank that runs another program");
    using function = void (*)(scheduler&, const std::vector<std::byte>&, A&&...);
    reinterpret_cast<function>(kinds[kind_]->invoke)(pe, receiver_, std::move(a)...);
  }

  std::uint32_t kind_ = none;
  std::vector<std::byte> receiver_;
};

/// One answer that a coroutine waits for, from whoever is given its callback:
///
///     ix::future<double> answer;
///     solvers[0].send<&solver::solve>(answer.get_callback());
///     const auto [residual] = co_await answer;
///
/// Made, awaited and destroyed on one PE: while it lives its chare does not move. Whether the answer comes before it is
/// awaited or after does not matter; a second one is dropped, and so is one that comes after the future has been
/// destroyed.
template <class... A>
class [[nodiscard]] future {
 public:
  future() : id_(scheduler::of_caller().futures.add(&state_)) {}
  future(const future&) = delete;
  future& operator=(const future&) = delete;
  ~future() {
    if (scheduler* const pe = scheduler::current_or_null()) pe->futures.remove(id_);
  }

  callback<A...> get_callback() const {
    return callback<A...>::make(detail::future_receiver<A...>{scheduler::of_caller().id(), id_});
  }
  bool is_ready() const { return state_.value.has_value(); }

  /// The answer, as a tuple. Once.
  auto operator co_await() { return awaiter(state_); }

 private:
  class awaiter : public waiter {
   public:
    explicit awaiter(detail::future_state<A...>& s) : state_(s) {}
    ~awaiter() { state_.waiting = nullptr; }
    bool await_ready() const { return state_.value.has_value(); }
    void await_suspend(std::coroutine_handle<> h) {
      suspend(h, [](const waiter*) { return std::string("a future"); });
      state_.waiting = this;
    }
    std::tuple<A...> await_resume() { return std::move(*state_.value); }

   private:
    detail::future_state<A...>& state_;
  };

  detail::future_state<A...> state_;
  const std::uint64_t id_;
  const actor_tie tie_ = actor_tie::of_acting(scheduler::current());
};

}  // namespace imbrex
