#pragma once

/// `imbrex::clock`, the time of a PE, and `imbrex::spend`: for programs that measure themselves, also in virtual time
/// (docs/virtual-time.md). Apart, since it brings <chrono>.
#include "imbrex/async/pe_clock.h"
