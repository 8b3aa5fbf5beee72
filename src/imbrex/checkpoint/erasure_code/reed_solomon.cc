#include "imbrex/checkpoint/erasure_code/reed_solomon.h"

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

namespace imbrex {

// The rest is in isal_reed_solomon.cc where ISA-L was found; without it there is never an object to call.
#if !IMBREX_HAVE_ISAL

bool reed_solomon::is_built() { return false; }

reed_solomon::reed_solomon(int num_data, int num_parity) : num_data_(num_data), num_parity_(num_parity) {
  throw not_built("Reed-Solomon parity needs ISA-L (" IMBREX_NOTE_ISAL
                  "): install libisal-dev and build again, or use xor parity, which restores one block");
}

void reed_solomon::encode(std::span<const std::span<const std::byte>>, std::span<const std::span<std::byte>>) const {}

void reed_solomon::restore(std::span<const std::span<std::byte>>, std::span<const int>) const {}

#endif

}  // namespace imbrex
