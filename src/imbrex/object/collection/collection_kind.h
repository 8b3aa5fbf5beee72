#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "imbrex/object/collection/collection.h"

namespace imbrex {

/// A kind of chare array that a program has: class and map. One object each, registered before main; how arrays of a
/// checkpoint are made again.
class collection_kind {
 public:
  using maker = std::unique_ptr<collection> (*)(chare_pe&, collection_id, const std::vector<std::byte>& shape);
  collection_kind(const char* name, maker how);

  const char* name() const { return name_; }

  /// A PE's part, still without elements. Throws `checkpoint_error` when this program has no such kind.
  static std::unique_ptr<collection> make(chare_pe& pe, collection_id id, const collection_recipe& recipe);

 private:
  const char* name_;
  maker make_;
};

}  // namespace imbrex
