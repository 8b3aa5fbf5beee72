#include "imbrex/async/pe_clock.h"

#include <string>

#include "imbrex/base/error.h"

namespace imbrex::detail {

void refuse_to_spend(std::chrono::nanoseconds computed) {
  throw usage_error("spend was given " + std::to_string(computed.count()) +
                    " ns: a part of a program takes nothing at least, and 100 days at most");
}

}  // namespace imbrex::detail
