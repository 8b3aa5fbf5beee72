#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "matrix.h"
#include "variant.h"

namespace dgemm {

namespace ix = imbrex;

/// The inputs of one size. Products multiply A by B, or by multiples of B, so that they can be told apart.
struct problem {
  explicit problem(int size)
      : n(size), a(make_matrix(1, size)), b(make_matrix(2, size)), check(size, a.data(), b.data()) {}
  const int n;
  const std::vector<double> a, b;
  const product_check check;

  std::size_t elements() const { return a.size(); }
  ix::launch_shape shape() const;
};

/// One variant on the devices of one PE. Used on that PE, in the order below; `work` often.
class runner {
 public:
  virtual ~runner() = default;
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  /// Memory of the host gets its content, everything is done once.
  virtual ix::task<> prepare() = 0;
  /// So many products, each with three matrices of its own at the device, two of which are copied there. In the end all
  /// memory of the devices has been given back, but for the last product.
  virtual ix::task<> work(int iterations) = 0;
  /// How many rows of the last product are wrong.
  virtual ix::task<int> check() = 0;
  /// No device is at work any more; only destruction may follow.
  virtual ix::task<> close() = 0;

 protected:
  runner() = default;
};

/// By tasks, on `devices` of the PE in turns.
std::unique_ptr<runner> make_task_runner(const problem& p, std::vector<ix::device*> devices,
                                         const ix::hetero_options& how, int iterations);
/// With malloc, memcpy, the kernel on the calling thread, free.
std::unique_ptr<runner> make_host_runner(const problem& p);

}  // namespace dgemm
