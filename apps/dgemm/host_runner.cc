#include <cstdlib>
#include <cstring>
#include <new>

#include "runner.h"

#include "matrix_product.hk"

namespace dgemm {
namespace {

class host_runner final : public runner {
 public:
  explicit host_runner(const problem& p) : problem_(p) {}

  ix::task<> prepare() override { return work(2); }

  ix::task<> work(int iterations) override {
    const std::size_t bytes = problem_.elements() * sizeof(double);
    for (int i = 0; i < iterations; ++i) {
      std::unique_ptr<double, freed> a(allocate(bytes)), b(allocate(bytes)), c(allocate(bytes));
      std::memcpy(a.get(), problem_.a.data(), bytes);
      std::memcpy(b.get(), problem_.b.data(), bytes);
      int n = problem_.n;
      double *pa = a.get(), *pb = b.get(), *pc = c.get();
      void* const arguments[] = {&n, &pa, &pb, &pc};
      ix::run_on_cpu(matrix_product, problem_.shape(), arguments, 0, problem_.shape().num_groups());
      last_ = std::move(c);
    }
    co_return;
  }

  ix::task<int> check() override { co_return problem_.check.wrong_rows({last_.get(), problem_.elements()}); }
  ix::task<> close() override { co_return; }

 private:
  struct freed {
    void operator()(double* p) const { std::free(p); }
  };
  static double* allocate(std::size_t bytes) {
    auto* const p = static_cast<double*>(std::aligned_alloc(64, bytes));
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }

  const problem& problem_;
  std::unique_ptr<double, freed> last_;
};

}  // namespace

std::unique_ptr<runner> make_host_runner(const problem& p) { return std::make_unique<host_runner>(p); }

}  // namespace dgemm
