#pragma once

#include <nanobind/nanobind.h>

#include <imbrex/imbrex.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "value.h"

struct CUstream_st;

namespace imbrex_python {

/// The memory of an array of Python: of numpy or whatever has the buffer protocol or DLPack; of CuPy, Numba, PyTorch on
/// a GPU, by `__cuda_array_interface__` or DLPack. In C order, without gaps.
struct array_memory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool on_gpu = false;
  std::optional<CUstream_st*> ready_in;  ///< a stream of CUDA in whose order it is filled
  value kept;                            ///< the array, and what it lends
  std::shared_ptr<void> lent;            ///< while somebody has it, Python moves no memory of the array

  /// Throws `usage_error` for what is no such array, has gaps, or cannot be written though it shall.
  static array_memory of(const nb::object& array, bool to_write);
};

/// What Python calls a stream of CUDA: a number, or an object with `ptr` (CuPy), `cuda_stream` (PyTorch) or
/// `__cuda_stream__`. Nothing: None.
std::optional<CUstream_st*> stream_of_cuda(const nb::object& stream);

}  // namespace imbrex_python
