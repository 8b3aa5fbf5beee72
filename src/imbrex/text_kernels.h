#pragma once

/// Kernels whose text the program has when it runs; not in imbrex.h.
#include "imbrex/device/kernel/text/text_kernels.h"
