#include "imbrex/object/compiled_bodies.h"

namespace imbrex {
IMBREX_COMPILED_BODIES();
}  // namespace imbrex
