#pragma once

#include <cstddef>

namespace imbrex {
class stream;
}

/// y = a * x + y on a GPU, in the order of stream `s`: in 07_gpu_vector.cu. Returns at once.
void gpu_axpy(imbrex::stream& s, std::size_t n, double a, const double* x, double* y);
