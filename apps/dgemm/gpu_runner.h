#pragma once

#include <memory>

#include "runner.h"

namespace dgemm {

/// `naive_products` on CUDA's GPU of that number.
std::unique_ptr<runner> make_cuda_runner(const problem& p, int number);

}  // namespace dgemm
