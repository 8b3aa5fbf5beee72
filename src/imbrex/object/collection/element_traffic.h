#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/base/serialize.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/entry/element_identity.h"

namespace imbrex {

/// The `element_identity` of an element that is known here.
std::uint64_t identity_of(const element_base& e);

/// What one element has sent another; both by `element_identity`.
struct element_exchange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  double bytes = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & from & to & bytes;
  }
};

/// How many bytes the elements of a PE send to which others, by entry messages and through channels. Not all entry
/// messages are looked at where there are many: one of so many, chosen by chance, stands for all of them. Replies,
/// broadcasts and reductions are not counted. For the PE's thread.
class element_traffic final : public pe_part {
 public:
  /// The one of `pe`; null: nobody wants to know.
  static element_traffic* of(scheduler& pe) { return static_cast<element_traffic*>(chare_pe::of(pe).traffic.get()); }

  /// What was sent since this was called last, about; by elements that have left, too. So many looks at messages are
  /// enough for the next time.
  std::vector<element_exchange> take(std::size_t enough);

  /// Whether the message that is sent now is looked at.
  bool takes_next() {
    ++num_sent_;
    if (--passed_over_ > 0) [[likely]]
      return false;
    passed_over_ = 1 + random_.below(2 * stride_ - 1);
    return true;
  }
  /// It is one of so many bytes.
  void add_message(std::uint64_t from, std::uint64_t to, std::size_t bytes);
  /// What the channels of `e` have carried since this was called last.
  void add_channels(const element_base& e);

 private:
  using pair = std::pair<std::uint64_t, std::uint64_t>;
  struct pair_hash {
    std::size_t operator()(const pair& p) const { return p.second ^ mix(p.first); }
  };
  std::unordered_map<pair, double, pair_hash> all_;
  std::uint64_t num_sent_ = 0;
  std::uint64_t stride_ = 1;  // messages for which one stands
  std::uint64_t passed_over_ = 1;
  random_sequence random_{0};
};

namespace detail {

/// About as many bytes as an argument that becomes a `Parameter` is in a message.
template <class Parameter, class A>
std::size_t bytes_of_argument(const A& a) {
  if constexpr (requires { a.size() * sizeof(typename A::element_type); }) {
    return a.size() *
           sizeof(typename A::element_type);  // a view of elements, or an object, which go beside the message
  } else if constexpr (!is_bitwise<A> && std::is_same_v<A, Parameter>) {
    return serialized_size(a);
  } else {
    return sizeof(A);
  }
}

std::uint64_t identity_of_acting(const scheduler& pe);

/// The element whose code runs sends these arguments to element `i` of `c`.
template <class Index, class... P, class... A>
[[gnu::cold, gnu::noinline]] void note_message(std::type_identity<std::tuple<P...>>, scheduler& pe, collection_id c,
                                               const Index& i, const A&... a) {
  auto* const traffic = element_traffic::of(pe);
  if (traffic == nullptr || pe.acting() == nullptr || !traffic->takes_next()) return;
  traffic->add_message(identity_of_acting(pe), element_identity(c, to_bytes(i)),
                       (std::size_t{0} + ... + bytes_of_argument<P>(a)));
}

}  // namespace detail

}  // namespace imbrex
