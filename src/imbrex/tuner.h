#pragma once

/// What a program includes beside `imbrex/imbrex.h` to have its parameters found by trying: docs/performance.md.
#include "imbrex/tuning/tuner.h"
