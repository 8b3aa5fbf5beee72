#pragma once

#include <string>

#include "imbrex/virtual_time/machine/machine.h"

namespace imbrex::detail {

/// `whence` is for messages. Throws what `read_machine` does.
machine machine_from_text(const std::string& text, const std::string& whence);

}  // namespace imbrex::detail
