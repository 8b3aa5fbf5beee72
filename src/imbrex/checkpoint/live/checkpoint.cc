#include "imbrex/checkpoint/live/checkpoint.h"

namespace imbrex {

IMBREX_COMPILED_RESULT_TO(, int, max_op, detail::to_checkpointer);
IMBREX_COMPILED_BODY(, point_call);

}  // namespace imbrex
