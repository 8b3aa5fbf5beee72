#pragma once

#include <imbrex/device/kernel_cost.h>

#include <cstdint>

#include "system/model.h"

/// What the kernels of a box take, for runs in virtual time: measured on one H200 (bench/results/minimd), and told as
/// operations where shared memory and arithmetic are the limit, which other GPUs of its kind do as much more slowly as
/// their arithmetic is; else as bytes.
namespace md::costs {

/// Of forces and both half steps.
imbrex::kernel_cost step(const model& m, std::uint64_t atoms);
/// Of making lists.
imbrex::kernel_cost lists(const model& m, std::uint64_t atoms);
/// Of sorting keys of 32 bits with their places.
imbrex::kernel_cost sort(std::uint64_t atoms);
/// Of a pass that reads positions and writes little.
imbrex::kernel_cost look(std::uint64_t atoms);
/// Of one that also moves atoms to other places.
imbrex::kernel_cost move(std::uint64_t atoms);

}  // namespace md::costs
