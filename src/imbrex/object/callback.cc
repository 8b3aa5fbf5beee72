#include "imbrex/object/callback.h"

#include "imbrex/pe/registered_types.h"

namespace imbrex::detail {

std::vector<callback_kind*>& callback_kind::registry() {
  static std::vector<callback_kind*> all;
  return all;
}

std::uint64_t callback_kind::seal() { return number_by_name(registry()); }

}  // namespace imbrex::detail
