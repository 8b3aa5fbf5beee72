// A stand-in for CloverLeaf: fields on cells in 2D, with a halo of depth 2. In a step the time step is the least over
// all cells (Allreduce), then all fields are exchanged, first left and right, then down and up with the corners (Irecv,
// Isend, Waitall; one message per side), and smoothed over 5x5 cells. Every few steps the fields' sums go to rank 0
// (Reduce).
//
// The fields start as a constant and a cosine, an eigenvector of the smoothing with mirrored borders: so every value,
// and the sum of the time steps, is known at the end, and the sums do not change.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "standin.h"

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double base = 3;  // the constant; keeps the energy of a cell positive
constexpr int depth = 2;
constexpr double weights[] = {-1.0 / 16, 1.0 / 4, 5.0 / 8, 1.0 / 4, -1.0 / 16};

struct settings {
  long nx = 60, ny = 60, steps = 100, fields = 4, summary_every = 10, work = 0;
};

class chunk {
 public:
  explicit chunk(const settings& s) : all_{s.nx, s.ny}, fields_(static_cast<int>(s.fields)) {
    std::array<int, 2> open{};
    MPI_Dims_create(standins::all_ranks(), 2, dims_.data());
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims_.data(), open.data(), 0, &comm_);
    MPI_Cart_coords(comm_, standins::this_rank(), 2, at_.data());
    for (std::size_t a = 0; a < 2; ++a) {
      const standins::part own(all_[a], dims_[a], at_[a]);
      begin_[a] = own.begin;
      n_[a] = static_cast<int>(own.end - own.begin);
      MPI_Cart_shift(comm_, static_cast<int>(a), 1, &ranks_[a][0], &ranks_[a][1]);
    }
    if (!fits()) return;
    values_.resize(index(fields_, -depth, -depth));
    between_ = values_;
    for_cells([&](int f, int x, int y, std::size_t i) { values_[i] = base + cosine(f, x, y); });
  }
  ~chunk() { MPI_Comm_free(&comm_); }
  chunk(const chunk&) = delete;
  chunk& operator=(const chunk&) = delete;

  /// Whether every rank has a halo's depth of cells.
  bool fits() const { return all_[0] >= depth * dims_[0] && all_[1] >= depth * dims_[1]; }

  double time_step(long work) const {
    double least = 1, result = 0;
    for_cells([&](int f, int, int, std::size_t i) {
      if (f == 0) least = std::min(least, 1 / standins::sound_speed(values_[i], work));
    });
    MPI_Allreduce(&least, &result, 1, MPI_DOUBLE, MPI_MIN, comm_);
    return result;
  }

  void exchange(std::size_t axis) {
    MPI_Request requests[4];
    int num_requests = 0;
    for (std::size_t side = 0; side < 2; ++side) {
      if (ranks_[axis][side] == MPI_PROC_NULL) continue;
      std::vector<double>&to = sent_[side], &from = received_[side];
      to.clear();
      for_side(axis, side, false, [&](std::size_t i) { to.push_back(values_[i]); });
      from.resize(to.size());
      const int count = static_cast<int>(to.size()), tag = static_cast<int>(side);
      MPI_Irecv(from.data(), count, MPI_DOUBLE, ranks_[axis][side], 1 - tag, comm_, &requests[num_requests++]);
      MPI_Isend(to.data(), count, MPI_DOUBLE, ranks_[axis][side], tag, comm_, &requests[num_requests++]);
    }
    MPI_Waitall(num_requests, requests, MPI_STATUSES_IGNORE);
    for (std::size_t side = 0; side < 2; ++side) {
      const double* from = received_[side].data();
      if (ranks_[axis][side] == MPI_PROC_NULL) {
        mirror(axis, side);
      } else {
        for_side(axis, side, true, [&](std::size_t i) { values_[i] = *from++; });
      }
    }
  }

  /// values += step * (smoothed - values), smoothed along x and then along y.
  void smooth(double step) {
    for (int f = 0; f < fields_; ++f) {
      for (int y = -depth; y < n_[1] + depth; ++y) {
        for (int x = 0; x < n_[0]; ++x) between_[index(f, x, y)] = weighted(&values_[index(f, x, y)], 1);
      }
    }
    const auto row = static_cast<std::ptrdiff_t>(n_[0] + 2 * depth);
    for_cells([&](int, int, int, std::size_t i) { values_[i] += step * (weighted(&between_[i], row) - values_[i]); });
  }

  /// True at rank 0 where the sum of every field is that of its constant; true elsewhere.
  bool sums_are_kept() const {
    std::vector<double> own(static_cast<std::size_t>(fields_)), sums(own.size());
    for_cells([&](int f, int, int, std::size_t i) { own[static_cast<std::size_t>(f)] += values_[i]; });
    MPI_Reduce(own.data(), sums.data(), fields_, MPI_DOUBLE, MPI_SUM, 0, comm_);
    const double expected = base * static_cast<double>(all_[0]) * static_cast<double>(all_[1]);
    return standins::this_rank() != 0 ||
           std::all_of(sums.begin(), sums.end(), [&](double sum) { return std::fabs(sum / expected - 1) < 1e-11; });
  }

  double decay() const { return factor(0) * factor(1); }
  double largest_cosine() const { return std::cos(angle(0) / 2) * std::cos(angle(1) / 2); }

  double greatest_error(double amplitude) const {
    double error = 0;
    for_cells([&](int f, int x, int y, std::size_t i) {
      error = std::max(error, std::fabs(values_[i] - base - amplitude * cosine(f, x, y)));
    });
    return error;
  }

 private:
  std::size_t index(int f, int x, int y) const {
    const auto width = static_cast<std::size_t>(n_[0] + 2 * depth),
               height = static_cast<std::size_t>(n_[1] + 2 * depth);
    return (static_cast<std::size_t>(f) * height + static_cast<std::size_t>(y + depth)) * width +
           static_cast<std::size_t>(x + depth);
  }
  double angle(std::size_t axis) const { return pi / static_cast<double>(all_[axis]); }
  double factor(std::size_t axis) const {
    return weights[2] + 2 * weights[1] * std::cos(angle(axis)) + 2 * weights[0] * std::cos(2 * angle(axis));
  }
  /// Field f is the first one divided by f + 1.
  double cosine(int f, int x, int y) const {
    return std::cos(angle(0) * (static_cast<double>(begin_[0] + x) + 0.5)) *
           std::cos(angle(1) * (static_cast<double>(begin_[1] + y) + 0.5)) / (f + 1);
  }
  static double weighted(const double* middle, std::ptrdiff_t distance) {
    return weights[0] * (middle[-2 * distance] + middle[2 * distance]) +
           weights[1] * (middle[-distance] + middle[distance]) + weights[2] * *middle;
  }

  template <class Function>
  void for_cells(const Function& function) const {
    for (int f = 0; f < fields_; ++f) {
      for (int y = 0; y < n_[1]; ++y) {
        for (int x = 0; x < n_[0]; ++x) function(f, x, y, index(f, x, y));
      }
    }
  }

  std::size_t on_line(std::size_t axis, int f, int along, int across) const {
    return axis == 0 ? index(f, along, across) : index(f, across, along);
  }
  /// Corners go with the second axis, when the first one's halo is there.
  template <class Function>
  void for_lines(std::size_t axis, const Function& function) const {
    const int begin = axis == 0 ? 0 : -depth, end = axis == 0 ? n_[1] : n_[0] + depth;
    for (int f = 0; f < fields_; ++f) {
      for (int across = begin; across < end; ++across) function(f, across);
    }
  }
  /// The cells at one side that go to the neighbour, or the halo that its cells come to.
  template <class Function>
  void for_side(std::size_t axis, std::size_t side, bool halo, const Function& function) const {
    const int first = side == 0 ? (halo ? -depth : 0) : (halo ? n_[axis] : n_[axis] - depth);
    for_lines(axis, [&](int f, int across) {
      for (int i = 0; i < depth; ++i) function(on_line(axis, f, first + i, across));
    });
  }
  /// The halo outside all cells is the reflection of those inside.
  void mirror(std::size_t axis, std::size_t side) {
    for_lines(axis, [&](int f, int across) {
      for (int i = 0; i < depth; ++i) {
        const int outside = side == 0 ? -1 - i : n_[axis] + i, inside = side == 0 ? i : n_[axis] - 1 - i;
        values_[on_line(axis, f, outside, across)] = values_[on_line(axis, f, inside, across)];
      }
    });
  }

  std::array<long, 2> all_, begin_{};
  int fields_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<int, 2> dims_{}, at_{}, n_{};
  int ranks_[2][2] = {};  // of the neighbours, by axis and side
  std::vector<double> values_, between_, sent_[2], received_[2];
};

int run(const settings& s) {
  chunk c(s);
  if (!c.fits()) {
    char text[64];
    std::snprintf(text, sizeof text, "%ldx%ld", s.nx, s.ny);
    return standins::refuse("halo2d", "too few cells for a halo of these ranks,", text, "give more by --nx, --ny");
  }
  double time = 0, expected_time = 0, amplitude = 1;
  bool right = true;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long step = 1; step <= s.steps; ++step) {
    const double least = c.time_step(s.work);
    time += least;
    c.exchange(0);
    c.exchange(1);
    c.smooth(least);
    if (step % s.summary_every == 0) right = c.sums_are_kept() && right;
  }
  const double seconds = MPI_Wtime() - begin;
  for (long step = 0; step < s.steps; ++step) {
    const double expected = 1 / std::sqrt(base + amplitude * c.largest_cosine());
    expected_time += expected;
    amplitude *= 1 + expected * (c.decay() - 1);
  }
  char result[128];
  std::snprintf(result, sizeof result, "halo2d cells %ldx%ld steps %ld time %.9f", s.nx, s.ny, s.steps, time);
  const double allowed = 1e-12 * static_cast<double>(s.steps + 10);
  right = right && c.greatest_error(amplitude) < allowed && std::fabs(time - expected_time) < allowed;
  return standins::finish(seconds, result, right);
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  MPI_Init(&argc, &argv);
  int code =
      standins::read_options(argc, argv, "halo2d", "halos of depth 2 of fields in 2D, as CloverLeaf",
                             {{"nx", s.nx, 2, 1000000, "cells of all ranks along x"},
                              {"ny", s.ny, 2, 1000000, "along y"},
                              {"steps", s.steps, 1, 1000000000, "steps"},
                              {"fields", s.fields, 1, 100, "fields in a message"},
                              {"summary", s.summary_every, 1, 1000000000, "steps between sums to rank 0"},
                              {"work", s.work, 0, 1000000, "further steps of Newton's method per cell and step"}});
  if (code == standins::go_on) code = run(s);
  MPI_Finalize();
  return code;
}
