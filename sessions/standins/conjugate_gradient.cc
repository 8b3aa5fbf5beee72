// A stand-in for miniFE: conjugate gradients for a 27-point operator (26 on the diagonal, -1 for each neighbour inside
// the box) on a box of points that is split over the ranks. An iteration exchanges the borders of one vector with up to
// 26 neighbours (Irecv, Send, Wait) and takes two sums over all ranks (Allreduce).
//
// The right side comes from a known solution by a formula, without any message; what is found is compared with it.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "standin.h"

namespace {

using points = std::vector<double>;
constexpr double tolerance = 1e-10;  // of the residual, against the right side

struct neighbour {
  int rank, tag_sent, tag_received;
  std::array<int, 3> direction;
  points sent, received;
  MPI_Request request = MPI_REQUEST_NULL;
};

class domain {
 public:
  explicit domain(const std::array<long, 3>& all) : all_(all) {
    std::array<int, 3> open{};
    MPI_Dims_create(standins::all_ranks(), 3, dims_.data());
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims_.data(), open.data(), 0, &comm_);
    MPI_Cart_coords(comm_, standins::this_rank(), 3, at_.data());
    for (std::size_t a = 0; a < 3; ++a) {
      const standins::part own(all[a], dims_[a], at_[a]);
      begin_[a] = own.begin;
      n_[a] = static_cast<int>(own.end - own.begin);
    }
    for (int d = 0; d < 27 && fits(); ++d) add_neighbour(d);
  }
  ~domain() { MPI_Comm_free(&comm_); }
  domain(const domain&) = delete;
  domain& operator=(const domain&) = delete;

  /// Whether every rank has points.
  bool fits() const { return all_[0] >= dims_[0] && all_[1] >= dims_[1] && all_[2] >= dims_[2]; }
  points zeros() const {
    return points(static_cast<std::size_t>(n_[0] + 2) * static_cast<std::size_t>(n_[1] + 2) *
                  static_cast<std::size_t>(n_[2] + 2));
  }

  void exchange(points& v) {
    for (neighbour& b : neighbours_) {
      MPI_Irecv(b.received.data(), static_cast<int>(b.received.size()), MPI_DOUBLE, b.rank, b.tag_received, comm_,
                &b.request);
    }
    for (neighbour& b : neighbours_) {
      double* to = b.sent.data();
      for_region(b.direction, false, [&](std::size_t i) { *to++ = v[i]; });
      MPI_Send(b.sent.data(), static_cast<int>(b.sent.size()), MPI_DOUBLE, b.rank, b.tag_sent, comm_);
    }
    for (neighbour& b : neighbours_) {
      MPI_Wait(&b.request, MPI_STATUS_IGNORE);
      const double* from = b.received.data();
      for_region(b.direction, true, [&](std::size_t i) { v[i] = *from++; });
    }
  }

  /// result = A v; v has the borders of its neighbours, and zero outside the box.
  void apply(const points& v, points& result) const {
    for_own([&](int x, int y, int z, std::size_t i) {
      double sum = 27 * v[i];
      for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) {
          const double* row = &v[index(x, y + dy, z + dz)];
          sum -= row[-1] + row[0] + row[1];
        }
      }
      result[i] = sum;
    });
  }

  double dot(const points& a, const points& b) const {
    double own = 0, sum = 0;
    for_own([&](int, int, int, std::size_t i) { own += a[i] * b[i]; });
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return sum;
  }

  /// to = factor_to * to + factor * from, on the points of this rank.
  void combine(points& to, double factor_to, const points& from, double factor) const {
    for_own([&](int, int, int, std::size_t i) { to[i] = factor_to * to[i] + factor * from[i]; });
  }

  points right_side() const {
    points b = zeros();
    for_own([&](int x, int y, int z, std::size_t i) {
      double sum = 27 * solution(x, y, z);
      for (int d = 0; d < 27; ++d) sum -= solution(x + d % 3 - 1, y + d / 3 % 3 - 1, z + d / 9 - 1);
      b[i] = sum;
    });
    return b;
  }

  double greatest_error(const points& found) const {
    double error = 0;
    for_own(
        [&](int x, int y, int z, std::size_t i) { error = std::max(error, std::fabs(found[i] - solution(x, y, z))); });
    return error;
  }

 private:
  std::size_t index(int x, int y, int z) const {
    return (static_cast<std::size_t>(z + 1) * static_cast<std::size_t>(n_[1] + 2) + static_cast<std::size_t>(y + 1)) *
               static_cast<std::size_t>(n_[0] + 2) +
           static_cast<std::size_t>(x + 1);
  }

  /// The known solution at a point counted from this rank's first one; zero outside the box.
  double solution(int x, int y, int z) const {
    const long place[3] = {begin_[0] + x, begin_[1] + y, begin_[2] + z};
    for (std::size_t a = 0; a < 3; ++a) {
      if (place[a] < 0 || place[a] >= all_[a]) return 0;
    }
    return 1 + 0.5 * std::sin(0.7 * static_cast<double>(place[0]) + 1.3 * static_cast<double>(place[1]) +
                              2.1 * static_cast<double>(place[2]));
  }

  template <class Function>
  void for_own(const Function& function) const {
    for (int z = 0; z < n_[2]; ++z) {
      for (int y = 0; y < n_[1]; ++y) {
        for (int x = 0; x < n_[0]; ++x) function(x, y, z, index(x, y, z));
      }
    }
  }

  /// The points that go to the neighbour there, or the places outside that its points come to.
  template <class Function>
  void for_region(const std::array<int, 3>& direction, bool outside, const Function& function) const {
    int begin[3], end[3];
    for (std::size_t a = 0; a < 3; ++a) {
      const int edge = direction[a] < 0 ? (outside ? -1 : 0) : (outside ? n_[a] : n_[a] - 1);
      begin[a] = direction[a] == 0 ? 0 : edge;
      end[a] = direction[a] == 0 ? n_[a] : edge + 1;
    }
    for (int z = begin[2]; z < end[2]; ++z) {
      for (int y = begin[1]; y < end[1]; ++y) {
        for (int x = begin[0]; x < end[0]; ++x) function(index(x, y, z));
      }
    }
  }

  void add_neighbour(int number) {
    neighbour b{0, number, 26 - number, {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1}, {}, {}};
    std::array<int, 3> there{};
    for (std::size_t a = 0; a < 3; ++a) {
      there[a] = at_[a] + b.direction[a];
      if (there[a] < 0 || there[a] >= dims_[a]) return;
    }
    if (number == 13) return;  // this rank itself
    MPI_Cart_rank(comm_, there.data(), &b.rank);
    std::size_t count = 0;
    for_region(b.direction, false, [&](std::size_t) { ++count; });
    b.sent.resize(count);
    b.received.resize(count);
    neighbours_.push_back(std::move(b));
  }

  std::array<long, 3> all_, begin_{};
  std::array<int, 3> dims_{}, at_{}, n_{};
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<neighbour> neighbours_;
};

/// Solves A x = b from x = 0; gives the number of iterations. `work` further applications of A per iteration change
/// nothing but the time.
long solve(domain& d, const points& b, points& x, long most_iterations, long work) {
  points r = b, p = b, product = d.zeros();
  std::fill(x.begin(), x.end(), 0.0);
  double rr = d.dot(r, r);
  const double enough = tolerance * tolerance * rr;
  long iteration = 0;
  for (; iteration < most_iterations && rr > enough; ++iteration) {
    d.exchange(p);
    for (long i = 0; i <= work; ++i) d.apply(p, product);
    const double alpha = rr / d.dot(p, product);
    d.combine(x, 1, p, alpha);
    d.combine(r, 1, product, -alpha);
    const double next = d.dot(r, r);
    d.combine(p, next / rr, r, 1);
    rr = next;
  }
  return iteration;
}

int run(const std::array<long, 3>& all, long solves, long most_iterations, long work) {
  domain d(all);
  if (!d.fits()) {
    char text[64];
    std::snprintf(text, sizeof text, "%ldx%ldx%ld", all[0], all[1], all[2]);
    return standins::refuse("conjugate_gradient", "too few points for these ranks,", text,
                            "give more by --nx, --ny, --nz");
  }
  const points b = d.right_side();
  points x = d.zeros();
  long iterations = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < solves; ++i) iterations += solve(d, b, x, most_iterations, work);
  const double seconds = MPI_Wtime() - begin;
  char result[128];
  std::snprintf(result, sizeof result, "conjugate_gradient points %ldx%ldx%ld solves %ld iterations %ld", all[0],
                all[1], all[2], solves, iterations);
  return standins::finish(seconds, result, d.greatest_error(x) < 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  long nx = 20, ny = 20, nz = 20, solves = 1, iterations = 1000, work = 0;
  MPI_Init(&argc, &argv);
  int code =
      standins::read_options(argc, argv, "conjugate_gradient", "conjugate gradients for a 27-point operator, as miniFE",
                             {{"nx", nx, 1, 100000, "points of all ranks along x"},
                              {"ny", ny, 1, 100000, "along y"},
                              {"nz", nz, 1, 100000, "along z"},
                              {"solves", solves, 1, 1000000, "solutions, one after the other"},
                              {"iterations", iterations, 1, 1000000, "most iterations of a solution"},
                              {"work", work, 0, 1000000, "further applications of the operator per iteration"}});
  if (code == standins::go_on) code = run({nx, ny, nz}, solves, iterations, work);
  MPI_Finalize();
  return code;
}
