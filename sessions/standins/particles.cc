// A stand-in for Quicksilver: particles fly through cells that are split over the ranks in 3D. In a step each particle
// makes a number of hops; one that leaves its rank's cells is put into the buffer for that neighbour. Buffers are
// exchanged with up to 6 neighbours (Irecv, Isend, Waitall) until no particle of any rank has hops left (Allreduce), as
// many rounds as that takes. After a step the tallies go to rank 0 (Reduce).
//
// A particle has its own random numbers, made from its own number, and hops between whole cells: so its way is the same
// for any number of rounds, and at the end each one is flown again alone and compared. Numbers and weights are
// conserved.
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "standin.h"

namespace {

constexpr std::int64_t first_weight = std::int64_t{1} << 30;

struct settings {
  long size = 8, num_particles = 100, steps = 10, hops = 20, buffer = 64, work = 0;
};

struct particle {
  std::uint64_t number, random;
  std::int64_t weight;
  std::array<std::int32_t, 3> cell;  // counted over all ranks
  std::int32_t direction;            // 0 to 5: down and up along x, y, z
  std::int64_t hops_left;

  bool operator==(const particle&) const = default;
};
static_assert(std::is_trivially_copyable_v<particle>);

std::uint64_t next_random(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15u;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

class tracker {
 public:
  explicit tracker(const settings& s) : s_(s) {
    std::array<int, 3> open{};
    MPI_Dims_create(standins::all_ranks(), 3, dims_.data());
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims_.data(), open.data(), 0, &comm_);
    MPI_Cart_coords(comm_, standins::this_rank(), 3, at_.data());
    for (std::size_t a = 0; a < 3; ++a) {
      MPI_Cart_shift(comm_, static_cast<int>(a), 1, &neighbours_[2 * a], &neighbours_[2 * a + 1]);
    }
    for (std::size_t d = 0; d < 6; ++d) {
      leaving_[d].reserve(static_cast<std::size_t>(s.buffer));
      received_[d].resize(static_cast<std::size_t>(s.buffer));
    }
    const auto first = static_cast<std::uint64_t>(standins::this_rank()) * static_cast<std::uint64_t>(s.num_particles);
    for (long i = 0; i < s.num_particles; ++i) rested_.push_back(born(first + static_cast<std::uint64_t>(i)));
  }
  ~tracker() { MPI_Comm_free(&comm_); }
  tracker(const tracker&) = delete;
  tracker& operator=(const tracker&) = delete;

  /// Gives the number of rounds.
  long step() {
    flying_.swap(rested_);
    for (particle& p : flying_) p.hops_left = s_.hops;
    long rounds = 0, num_open = 1;
    for (; num_open > 0; ++rounds) {
      for (particle& p : flying_) fly(p);
      flying_.clear();
      exchange();
      long own = static_cast<long>(flying_.size());
      for (const std::vector<particle>& waiting : leaving_) own += static_cast<long>(waiting.size());
      MPI_Allreduce(&own, &num_open, 1, MPI_LONG, MPI_SUM, comm_);
    }
    return rounds;
  }

  /// The weight that was absorbed up to now in all ranks, at rank 0.
  std::int64_t sum_tallies() const {
    std::int64_t sum = 0;
    MPI_Reduce(&absorbed_, &sum, 1, MPI_INT64_T, MPI_SUM, 0, comm_);
    return sum;
  }

  bool conserves(std::int64_t absorbed_by_all) const {
    std::int64_t own[3] = {static_cast<std::int64_t>(rested_.size()), 0, 0}, sums[3];
    for (const particle& p : rested_) {
      own[1] += static_cast<std::int64_t>(p.number);
      own[2] += p.weight;
    }
    MPI_Reduce(own, sums, 3, MPI_INT64_T, MPI_SUM, 0, comm_);
    const std::int64_t number = std::int64_t{s_.num_particles} * standins::all_ranks();
    return standins::this_rank() != 0 || (sums[0] == number && sums[1] == number * (number - 1) / 2 &&
                                          sums[2] + absorbed_by_all == number * first_weight);
  }

  bool each_flew_as_if_alone() const {
    for (const particle& found : rested_) {
      if (found.number >=
          static_cast<std::uint64_t>(s_.num_particles) * static_cast<std::uint64_t>(standins::all_ranks()))
        return false;
      particle alone = born(found.number);
      std::int64_t ignored = 0;
      for (long i = 0; i < s_.steps * s_.hops; ++i) hop(alone, ignored);
      alone.hops_left = 0;
      if (alone != found) return false;
    }
    return true;
  }

 private:
  /// A particle's beginning, in the cells of the rank that has its number.
  particle born(std::uint64_t number) const {
    particle p{number, next_random(number), first_weight, {}, 0, 0};
    std::array<int, 3> at{};
    MPI_Cart_coords(comm_, static_cast<int>(number / static_cast<std::uint64_t>(s_.num_particles)), 3, at.data());
    for (std::size_t a = 0; a < 3; ++a) {
      const auto place = static_cast<long>((p.random >> (16 * a)) % static_cast<std::uint64_t>(s_.size));
      p.cell[a] = static_cast<std::int32_t>(at[a] * s_.size + place);
    }
    p.direction = static_cast<std::int32_t>((p.random >> 48) % 6);
    return p;
  }

  /// To the next cell; in one of eight the particle collides before, which turns it and takes a quarter of its weight.
  /// At the end of all cells it turns back.
  void hop(particle& p, std::int64_t& absorbed) const {
    for (long i = 0; i <= s_.work; ++i) p.random = next_random(p.random);
    if (p.random % 8 == 0) {
      p.direction = static_cast<std::int32_t>((p.random >> 8) % 6);
      absorbed += p.weight / 4;
      p.weight -= p.weight / 4;
    }
    const auto axis = static_cast<std::size_t>(p.direction / 2);
    const std::int32_t there = p.cell[axis] + (p.direction % 2 == 0 ? -1 : 1);
    if (there < 0 || there >= dims_[axis] * s_.size) {
      p.direction ^= 1;
    } else {
      p.cell[axis] = there;
    }
    --p.hops_left;
  }

  bool is_here(const particle& p) const {
    const auto axis = static_cast<std::size_t>(p.direction / 2);
    return p.cell[axis] / s_.size == at_[axis];
  }

  void fly(particle& p) {
    while (p.hops_left > 0 && is_here(p)) hop(p, absorbed_);
    (is_here(p) ? rested_ : leaving_[static_cast<std::size_t>(p.direction)]).push_back(p);
  }

  void exchange() {
    std::array<MPI_Request, 12> requests;
    std::array<MPI_Status, 12> statuses;
    std::array<std::size_t, 6> num_sent{};
    const auto room = static_cast<std::size_t>(s_.buffer);
    for (std::size_t d = 0; d < 6; ++d) {
      num_sent[d] = leaving_[d].size() < room ? leaving_[d].size() : room;
      const int tag = static_cast<int>(d);
      requests[2 * d] = requests[2 * d + 1] = MPI_REQUEST_NULL;
      if (neighbours_[d] == MPI_PROC_NULL) continue;
      MPI_Irecv(received_[d].data(), bytes(room), MPI_BYTE, neighbours_[d], tag ^ 1, comm_, &requests[2 * d]);
      MPI_Isend(leaving_[d].data(), bytes(num_sent[d]), MPI_BYTE, neighbours_[d], tag, comm_, &requests[2 * d + 1]);
    }
    MPI_Waitall(12, requests.data(), statuses.data());
    for (std::size_t d = 0; d < 6; ++d) {
      if (neighbours_[d] == MPI_PROC_NULL) continue;
      int num_bytes = 0;
      MPI_Get_count(&statuses[2 * d], MPI_BYTE, &num_bytes);
      const auto end = received_[d].begin() + num_bytes / static_cast<int>(sizeof(particle));
      flying_.insert(flying_.end(), received_[d].begin(), end);
      leaving_[d].erase(leaving_[d].begin(), leaving_[d].begin() + static_cast<std::ptrdiff_t>(num_sent[d]));
    }
  }
  static int bytes(std::size_t num_particles) { return static_cast<int>(num_particles * sizeof(particle)); }

  const settings s_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<int, 3> dims_{}, at_{};
  std::array<int, 6> neighbours_{};  // by direction
  std::vector<particle> flying_, rested_;
  std::array<std::vector<particle>, 6> leaving_, received_;  // by direction
  std::int64_t absorbed_ = 0;
};

int run(const settings& s) {
  tracker t(s);
  long rounds = 0;
  std::int64_t absorbed = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long step = 0; step < s.steps; ++step) {
    rounds += t.step();
    absorbed = t.sum_tallies();
  }
  const double seconds = MPI_Wtime() - begin;
  char result[160];
  std::snprintf(result, sizeof result, "particles size %ld particles %ld steps %ld rounds %ld absorbed %lld", s.size,
                s.num_particles, s.steps, rounds, static_cast<long long>(absorbed));
  const bool conserved = t.conserves(absorbed);
  return standins::finish(seconds, result, t.each_flew_as_if_alone() && conserved);
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  MPI_Init(&argc, &argv);
  int code =
      standins::read_options(argc, argv, "particles", "particles that fly from rank to rank in 3D, as Quicksilver",
                             {{"size", s.size, 1, 10000, "cells of a rank along each axis"},
                              {"particles", s.num_particles, 1, 100000, "particles of a rank at the beginning"},
                              {"steps", s.steps, 1, 1000000, "steps"},
                              {"hops", s.hops, 1, 1000000, "hops of a particle in a step"},
                              {"buffer", s.buffer, 1, 100000, "particles that a message takes at most"},
                              {"work", s.work, 0, 1000000, "further random numbers per hop"}});
  if (code == standins::go_on) code = run(s);
  MPI_Finalize();
  return code;
}
