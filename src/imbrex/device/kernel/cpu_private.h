#pragma once

#include <cstddef>
#include <type_traits>

/// What belongs to one item of a work-group on the CPU, where a kernel's IX_PRIVATE has it for all of them.
namespace imbrex::detail {

/// An array of which each item has one: `All` is T[K]...[items], so that items next to each other are next to each
/// other in memory. Indexed like the item's own T[K]...
template <class All>
class array_of_item;
template <class T, std::size_t K, std::size_t N>
class array_of_item<T[K][N]> {
 public:
  [[gnu::always_inline]] constexpr array_of_item(T (&all)[K][N], int item) : all_(all), item_(item) {}
  [[gnu::always_inline]] constexpr decltype(auto) operator[](std::size_t k) const {
    if constexpr (std::is_array_v<T>) {
      return array_of_item<T[N]>(all_[k], item_);
    } else {
      return (all_[k][item_]);
    }
  }

 private:
  T (&all_)[K][N];
  int item_;
};

template <class T, std::size_t N>
[[gnu::always_inline]] constexpr decltype(auto) of_item(T (&all)[N], int item) {
  if constexpr (std::is_array_v<T>) {
    return array_of_item<T[N]>(all, item);
  } else {
    return (all[item]);
  }
}

}  // namespace imbrex::detail
