// Two objects: matrices that are sent in messages, and tasks that use them as soon as they are there.
//
// Two chares, on two processes if there are two, have three matrices each. They exchange A and B; each multiplies its
// own A by the B it was sent, and sends the product to the other, which multiplies it by the A it was sent (Thomadakis
// and Chrisochoides 2024, Figure 5). Nobody waits for a product before sending it, nobody waits for a matrix before
// submitting a task on it: `hetero_object`s know what has to come first, on whatever devices the tasks run.
//
//   build/default/bin/11_two_objects                         one process
//   mpirun -n 2 build/default/bin/11_two_objects             two processes
//   build/default/bin/11_two_objects --imbrex-device=auto    the tasks run on GPUs where there are any
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <cstdio>
#include <string>
#include <vector>

#include "11_two_objects.hk"

namespace ix = imbrex;

using matrix = ix::hetero_object<double>;  // n by n elements; wherever they are needed

IX_INLINE_KERNEL_BELOW(fill, (int n, IX_GLOBAL double* m, double diagonal, double elsewhere), n* n,
                       m[i] = i % (n + 1) == 0 ? diagonal : elsewhere);

matrix make_matrix(int n, double diagonal, double elsewhere) {
  matrix m(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  ix::submit({}, fill, ix::launch_shape::over(m.size()), n, ix::write(m), diagonal, elsewhere);
  return m;
}

// Submits c += a * b. It starts when the three are there.
void multiply(int n, const matrix& a, const matrix& b, const matrix& c) {
  ix::submit({}, dgemm, ix::launch_shape::over(c.size()), n, a, b, c);
}

class side : public ix::chare<side, ix::index1d> {
 public:
  void begin(int n) {
    n_ = n;
    const double mine = index().x + 1;
    a_ = make_matrix(n, mine, 0);  // a times the identity
    b_ = make_matrix(n, 2, 1);
    c_ = make_matrix(n, 0, 0);
    other().send<&side::exchanged>(a_, b_);
    is_ready_ = true;
    multiply_first();
  }

  // The other's A and B. The method runs before their elements have come.
  void exchanged(matrix a, matrix b) {
    other_a_ = std::move(a);
    other_b_ = std::move(b);
    multiply_first();
  }

  // The other's product: the second multiplication.
  ix::task<> multiply_second(matrix product) {
    multiply(n_, other_a_, product, c_);
    auto access = c_.host(ix::access_mode::read);
    const auto view = co_await access;
    double sum = 0;
    for (const double x : view) sum += x;
    contribute(sum, ix::sum);
  }

 private:
  ix::element_proxy<side> other() const { return array()[1 - index().x]; }

  void multiply_first() {
    if (!is_ready_ || !other_a_.exists()) return;
    matrix product = make_matrix(n_, 0, 0);
    multiply(n_, a_, other_b_, product);
    other().send<&side::multiply_second>(std::move(product));  // it is sent when the task has ended
  }

  int n_ = 0;
  bool is_ready_ = false;
  matrix a_, b_, c_, other_a_, other_b_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int n = arguments.empty() ? 96 : std::stoi(arguments[0]);
  const auto sides = rt.create_array<side>(2);
  sides.broadcast<&side::begin>(n);
  const double sum = co_await sides.reduction<double>();

  // Each side has A' * (A' * B), where A' is the other's: the square of 2, or of 1, times B, of n * (n + 1) in all.
  const double expected = (4.0 + 1.0) * n * (n + 1);
  fmt::print("the elements of both results sum to {:.0f}, expected {:.0f}\n", sum, expected);
  co_return sum == expected ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
