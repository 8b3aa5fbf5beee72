#include "imbrex/object/create.h"

namespace imbrex {

std::uint64_t detail::count_below(const scheduler& on, pe_id pe, pe_id root, const std::vector<std::uint64_t>& counts) {
  std::uint64_t n = 0;
  std::vector<pe_id> todo{pe};
  std::vector<pe_id> children;
  while (!todo.empty()) {
    const pe_id at = todo.back();
    todo.pop_back();
    n += counts[static_cast<std::size_t>(at)];
    on.tree().children_of(at, root, children);
    todo.insert(todo.end(), children.begin(), children.end());
  }
  return n;
}

}  // namespace imbrex
