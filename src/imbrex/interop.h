#pragma once

/// What a program includes beside `imbrex/imbrex.h` when it uses other libraries in streams of imbrex, or memory,
/// streams and events that are not imbrex's: docs/interoperation.md. Includes no header of CUDA or OpenCL.
#include "imbrex/device/foreign_memory.h"
#include "imbrex/device/interop/cuda_native.h"
#include "imbrex/device/interop/opencl_native.h"
