#include "imbrex/object/channel/link_kind.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/object/collection/collection.h"
#include "imbrex/object/data/port_table.h"

namespace imbrex::detail {

namespace {
std::vector<const link_kind*>& all_kinds() {
  static std::vector<const link_kind*> all;
  return all;
}
}  // namespace

link_kind::link_kind(std::uint64_t number, maker how) : number_(number), make_(how) { all_kinds().push_back(this); }

channel_link* link_kind::make(std::string name, std::uint64_t type, std::uint32_t size, data_mover* mover,
                              const link_address& a) {
  const auto& all = all_kinds();
  const auto kind = std::ranges::find_if(all, [&](const link_kind* k) { return k->number_ == a.kind; });
  if (kind == all.end()) {
    throw usage_error(name + " cannot be made again: this program has no channel to a chare with such an index");
  }
  return (*kind)->make_(std::move(name), type, size, mover, a);
}

void refuse_unconnected() {
  const auto* const e = static_cast<const element_base*>(executor::current()->acting());
  const int port = e != nullptr && e->extras && e->extras->ports ? e->extras->ports->first_unopened() : -1;
  if (port < 0)
    throw usage_error("a channel was used that is not connected: construct it with the two chares and ports");
  throw usage_error(
      fmt::format("a channel was used that is not connected: {} has come from another process, where it had a channel "
                  "at port {}: name its channels in serialize, or construct them in its default constructor",
                  e->part->text(*e), port));
}

}  // namespace imbrex::detail
