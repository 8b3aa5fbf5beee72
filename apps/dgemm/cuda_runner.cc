#include "gpu_runner.h"

#include "cuda_naive.h"

namespace dgemm {
namespace {

class cuda_runner final : public runner {
 public:
  cuda_runner(const problem& p, int number) : problem_(p), number_(number) {}

  ix::task<> prepare() override { return work(2); }
  ix::task<> work(int iterations) override {
    std::vector<double> not_wanted;
    naive_products(number_, problem_.n, problem_.a.data(), problem_.b.data(), iterations, not_wanted);
    co_return;
  }
  // The product is gone by the end of an iteration: one more for the check.
  ix::task<int> check() override {
    std::vector<double> c(problem_.elements());
    naive_products(number_, problem_.n, problem_.a.data(), problem_.b.data(), 1, c);
    co_return problem_.check.wrong_rows(c);
  }
  ix::task<> close() override { co_return; }

 private:
  const problem& problem_;
  const int number_;
};

}  // namespace

std::unique_ptr<runner> make_cuda_runner(const problem& p, int number) {
  return std::make_unique<cuda_runner>(p, number);
}

}  // namespace dgemm
