#pragma once

#include <imbrex/clock.h>

#include <cstdint>

namespace apps {

/// Nanoseconds of the clock of the PE that asks: virtual ones in a run in virtual time.
inline std::int64_t pe_time_ns() { return imbrex::clock::now().time_since_epoch().count(); }

}  // namespace apps
