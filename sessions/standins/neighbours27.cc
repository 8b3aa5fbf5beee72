// A stand-in for LULESH: elements in a box of ranks, each with up to 26 neighbours (faces, edges, corners). In a step
// all fields are exchanged in one message per neighbour (Irecv, Isend, Waitall), averaged over the 27 elements around
// each, and the time step is the least over all elements (Allreduce).
//
// The fields start as cosines, eigenvectors of that average with mirrored borders: so every value, and the sum of the
// time steps, is known at the end.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "standin.h"

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double base = 3;  // added to the cosine in the energy of an element, so that it stays positive

struct message {
  int rank, tag_sent, tag_received;
  std::array<int, 3> direction;
  std::vector<double> sent, received;
};

class box {
 public:
  box(long size, long fields) : n_(static_cast<int>(size)), fields_(static_cast<int>(fields)) {
    std::array<int, 3> open{};
    MPI_Dims_create(standins::all_ranks(), 3, dims_.data());
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims_.data(), open.data(), 0, &comm_);
    MPI_Cart_coords(comm_, standins::this_rank(), 3, at_.data());
    values_.resize(static_cast<std::size_t>(fields_) * volume());
    next_ = values_;
    for_interior([&](int f, int x, int y, int z) { values_[index(f, x, y, z)] = cosine(f, x, y, z); });
    for (int d = 0; d < 27; ++d) add_neighbour(d);
  }
  ~box() { MPI_Comm_free(&comm_); }
  box(const box&) = delete;
  box& operator=(const box&) = delete;

  void exchange() {
    std::vector<MPI_Request> requests(2 * messages_.size());
    MPI_Request* request = requests.data();
    for (message& m : messages_) {
      MPI_Irecv(m.received.data(), static_cast<int>(m.received.size()), MPI_DOUBLE, m.rank, m.tag_received, comm_,
                request++);
    }
    for (message& m : messages_) {
      double* to = m.sent.data();
      for_region(m.direction, false, [&](std::size_t i) { *to++ = values_[i]; });
      MPI_Isend(m.sent.data(), static_cast<int>(m.sent.size()), MPI_DOUBLE, m.rank, m.tag_sent, comm_, request++);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const message& m : messages_) {
      const double* from = m.received.data();
      for_region(m.direction, true, [&](std::size_t i) { values_[i] = *from++; });
    }
    for (int axis = 0; axis < 3; ++axis) mirror(axis);
  }

  /// The least of 1 / (speed of sound) over all elements of all ranks.
  double time_step(long work) const {
    double least = 1, result = 0;
    for (std::size_t i = 0; i < volume(); ++i)
      least = std::min(least, 1 / standins::sound_speed(base + values_[i], work));
    MPI_Allreduce(&least, &result, 1, MPI_DOUBLE, MPI_MIN, comm_);
    return result;
  }

  void average() {
    for_interior([&](int f, int x, int y, int z) {
      double sum = 0;
      for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) {
          const double* row = &values_[index(f, x, y + dy, z + dz)];
          sum += row[-1] + row[0] + row[1];
        }
      }
      next_[index(f, x, y, z)] = sum / 27;
    });
    std::swap(values_, next_);
  }

  double decay() const { return factor(0) * factor(1) * factor(2); }
  double largest_cosine() const { return half(0) * half(1) * half(2); }

  double greatest_error(double amplitude) const {
    double error = 0;
    for_interior([&](int f, int x, int y, int z) {
      error = std::max(error, std::fabs(values_[index(f, x, y, z)] - amplitude * cosine(f, x, y, z)));
    });
    return error;
  }

 private:
  std::size_t volume() const {
    return static_cast<std::size_t>(n_ + 2) * static_cast<std::size_t>(n_ + 2) * static_cast<std::size_t>(n_ + 2);
  }
  std::size_t index(int f, int x, int y, int z) const {
    const auto side = static_cast<std::size_t>(n_ + 2);
    return ((static_cast<std::size_t>(f) * side + static_cast<std::size_t>(z + 1)) * side +
            static_cast<std::size_t>(y + 1)) *
               side +
           static_cast<std::size_t>(x + 1);
  }
  double angle(int axis) const { return pi / (n_ * dims_[static_cast<std::size_t>(axis)]); }
  double factor(int axis) const { return (1 + 2 * std::cos(angle(axis))) / 3; }
  double half(int axis) const { return std::cos(angle(axis) / 2); }
  /// Field f is the first one divided by f + 1.
  double cosine(int f, int x, int y, int z) const {
    const int place[3] = {x, y, z};
    double product = 1;
    for (int axis = 0; axis < 3; ++axis) {
      product *= std::cos(angle(axis) * (at_[static_cast<std::size_t>(axis)] * n_ + place[axis] + 0.5));
    }
    return product / (f + 1);
  }

  template <class Function>
  void for_interior(const Function& function) const {
    for (int f = 0; f < fields_; ++f) {
      for (int z = 0; z < n_; ++z) {
        for (int y = 0; y < n_; ++y) {
          for (int x = 0; x < n_; ++x) function(f, x, y, z);
        }
      }
    }
  }

  /// The elements that go to the neighbour there, or the places outside that its own elements come to.
  template <class Function>
  void for_region(const std::array<int, 3>& direction, bool outside, const Function& function) const {
    int begin[3], end[3];
    for (std::size_t a = 0; a < 3; ++a) {
      const int edge = direction[a] < 0 ? (outside ? -1 : 0) : (outside ? n_ : n_ - 1);
      begin[a] = direction[a] == 0 ? 0 : edge;
      end[a] = direction[a] == 0 ? n_ : edge + 1;
    }
    for (int f = 0; f < fields_; ++f) {
      for (int z = begin[2]; z < end[2]; ++z) {
        for (int y = begin[1]; y < end[1]; ++y) {
          for (int x = begin[0]; x < end[0]; ++x) function(index(f, x, y, z));
        }
      }
    }
  }

  void add_neighbour(int number) {
    const std::array<int, 3> direction = {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1};
    std::array<int, 3> there{};
    for (std::size_t a = 0; a < 3; ++a) {
      there[a] = at_[a] + direction[a];
      if (there[a] < 0 || there[a] >= dims_[a]) return;
    }
    if (number == 13) return;  // this rank itself
    message m{0, number, 26 - number, direction, {}, {}};
    MPI_Cart_rank(comm_, there.data(), &m.rank);
    std::size_t count = 0;
    for_region(direction, false, [&](std::size_t) { ++count; });
    m.sent.resize(count);
    m.received.resize(count);
    messages_.push_back(std::move(m));
  }

  /// Gives the places outside the whole box, on this axis, the values of the elements at its border.
  void mirror(int axis) {
    const auto a = static_cast<std::size_t>(axis);
    for (const int side : {-1, 1}) {
      if (at_[a] != (side < 0 ? 0 : dims_[a] - 1)) continue;
      const int outside = side < 0 ? -1 : n_, inside = side < 0 ? 0 : n_ - 1;
      for (int f = 0; f < fields_; ++f) {
        for (int i = -1; i <= n_; ++i) {
          for (int j = -1; j <= n_; ++j)
            values_[on_plane(axis, f, outside, i, j)] = values_[on_plane(axis, f, inside, i, j)];
        }
      }
    }
  }
  std::size_t on_plane(int axis, int f, int plane, int i, int j) const {
    return axis == 0 ? index(f, plane, i, j) : axis == 1 ? index(f, i, plane, j) : index(f, i, j, plane);
  }

  int n_, fields_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<int, 3> dims_{}, at_{};
  std::vector<double> values_, next_;
  std::vector<message> messages_;
};

int run(long size, long steps, long fields, long work) {
  box b(size, fields);
  double time = 0, expected_time = 0, amplitude = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long step = 0; step < steps; ++step) {
    b.exchange();
    time += b.time_step(work);
    b.average();
  }
  const double seconds = MPI_Wtime() - begin;
  for (long step = 0; step < steps; ++step, amplitude *= b.decay()) {
    expected_time += 1 / std::sqrt(base + amplitude * b.largest_cosine());
  }
  char result[128];
  std::snprintf(result, sizeof result, "neighbours27 size %ld steps %ld time %.9f", size, steps, time);
  const bool right = b.greatest_error(amplitude) < 1e-12 * static_cast<double>(steps + 10) &&
                     std::fabs(time - expected_time) < 1e-12 * static_cast<double>(steps + 10);
  return standins::finish(seconds, result, right);
}

}  // namespace

int main(int argc, char** argv) {
  long size = 10, steps = 100, fields = 3, work = 0;
  MPI_Init(&argc, &argv);
  int code =
      standins::read_options(argc, argv, "neighbours27", "exchange with up to 26 neighbours in 3D, as LULESH",
                             {{"size", size, 2, 1000, "elements of a rank along each axis"},
                              {"steps", steps, 1, 1000000000, "steps"},
                              {"fields", fields, 1, 100, "fields in a message"},
                              {"work", work, 0, 1000000, "further steps of Newton's method per element and step"}});
  if (code == standins::go_on) code = run(size, steps, fields, work);
  MPI_Finalize();
  return code;
}
