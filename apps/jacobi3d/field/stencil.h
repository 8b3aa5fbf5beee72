#pragma once

/// The update formula; see `kernel.h` for the order of the additions.
namespace jacobi {

/// The mean of seven cells (the default), or alpha*c + beta*(sum of the six neighbours).
struct stencil {
  bool weighted = false;
  double alpha = 0.0;
  double beta = 0.0;
};

}  // namespace jacobi
