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
    on.tree_children_of(at, root, children);
    todo.insert(todo.end(), children.begin(), children.end());
  }
  return n;
}

void changing_body::operator()(scheduler& pe) {
  pe.relay(*this, priorities::communication);
  // A part that does not exist yet is created later with the right numbers for its elements only, so it must hear too.
  if (collection* part = pe.find_collection(array)) {
    part->set_changing();
  } else {
    pe.hold_for_collection(array, late_changing{array});
  }
}

void late_changing::operator()(scheduler& pe) { pe.find_collection(array)->set_changing(); }

void death_body::operator()(scheduler& pe) {
  collection* part = pe.find_collection(array);
  if (!part->changing()) pe.spread(changing_body{pe.id(), array}, priorities::communication);
  part->reductions().element_died(first_missing);
}

}  // namespace imbrex
