#pragma once

/// What a program includes beside `imbrex/imbrex.h` when its chares write their fields to files that others read, or
/// read such files: docs/fields.md.
#include "imbrex/fields/read_field.h"
#include "imbrex/fields/write_field.h"
