#include "imbrex/object/load/element_identity.h"

#include "imbrex/object/collection/collection.h"

namespace imbrex {

std::uint64_t identity_of(const element_base& e) { return element_identity(e.part->id(), e.part->index_bytes(e)); }

}  // namespace imbrex
