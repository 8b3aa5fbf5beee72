#include "imbrex/object/collection/collection_kind.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
std::vector<const collection_kind*>& all_kinds() {
  static std::vector<const collection_kind*> all;
  return all;
}
}  // namespace

collection_kind::collection_kind(const char* name, maker how) : name_(name), make_(how) { all_kinds().push_back(this); }

std::unique_ptr<collection> collection_kind::make(chare_pe& pe, collection_id id, const collection_recipe& recipe) {
  const auto& all = all_kinds();
  const auto kind = std::ranges::find_if(all, [&](const collection_kind* k) { return recipe.kind == k->name(); });
  if (kind == all.end()) {
    throw checkpoint_error(fmt::format(
        "the checkpoint has an array of a kind that this program never makes ({}): restart with the program "
        "that wrote it",
        recipe.kind));
  }
  return (*kind)->make_(pe, id, recipe.shape);
}

}  // namespace imbrex
