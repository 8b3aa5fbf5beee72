#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "imbrex/base/hash.h"

namespace imbrex::detail {

/// Sorts what was registered before main by name and numbers it, so that numbers mean the same on all ranks that run
/// the same program; of equal names (of unnamed namespaces of several files) in the order of registration. Returns a
/// digest of the names.
template <class T>
std::uint64_t number_by_name(std::vector<T*>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->number = static_cast<std::uint32_t>(i);
  std::sort(all.begin(), all.end(), [](const T* x, const T* y) {
    const int order = std::string_view(x->type_name).compare(y->type_name);
    return order != 0 ? order < 0 : x->number < y->number;
  });
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->number = static_cast<std::uint32_t>(i);
    h = mix(h ^ hash_bytes(all[i]->type_name));
  }
  return h;
}

}  // namespace imbrex::detail
