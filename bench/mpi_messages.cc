// What the runtime adds to a message between two ranks: a ping-pong of chares between processes against a raw
// MPI_Send/MPI_Recv ping-pong, before and after it, in the same processes.
//
//   mpirun -n 2 build/default/bin/bench_mpi_messages --imbrex-pes 1
//
// With --imbrex-transport=ucx it is the UCX transport that is set against raw MPI. Prints one-way nanoseconds, medians
// over the rounds, for 8 B and 1 KiB; JSON on the last line.
#include <fmt/format.h>
#include <imbrex/base/clock.h>
#include <imbrex/imbrex.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

namespace ix = imbrex;

namespace {

constexpr int rounds = 15;
constexpr int balls = 4000;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct player : ix::chare<player, ix::index1d> {
  void number(int left, double value) {
    if (left > 0) {
      array()[1 - index()].send<&player::number>(left - 1, value);
    } else {
      over_.set();
    }
  }
  void values(int left, std::vector<double> v) {
    if (left > 0) {
      array()[1 - index()].send<&player::values>(left - 1, std::move(v));
    } else {
      over_.set();
    }
  }
  ix::task<double> play(int size) {
    std::vector<double> times;
    for (int r = 0; r < rounds; ++r) {
      new (&over_) ix::completion;
      const auto begin = ix::now_ns();
      if (size == 8) {
        array()[1 - index()].send<&player::number>(balls - 1, 1.0);
      } else {
        array()[1 - index()].send<&player::values>(balls - 1, std::vector<double>(std::size_t(size) / 8));
      }
      co_await over_;
      times.push_back(double(ix::now_ns() - begin) / balls);
    }
    co_return median(times);
  }
  ix::completion over_;
};

double raw(int rank, int size) {
  std::vector<char> data(static_cast<std::size_t>(size));
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = ix::now_ns();
    for (int i = 0; i < balls / 2; ++i) {
      if (rank == 0) {
        MPI_Send(data.data(), size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data.data(), size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(data.data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data.data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    times.push_back(double(ix::now_ns() - begin) / balls);
  }
  return median(times);
}

double measured[2];

ix::task<int> start(ix::runtime& rt) {
  auto players = rt.create_array<player>(ix::index1d(2));
  for (int i = 0; i < 2; ++i) {
    auto game = players[0].call<&player::play>(i == 0 ? 8 : 1024);
    measured[i] = co_await std::move(game);
  }
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int given = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (rank == 0)
      fmt::print(stderr, "bench_mpi_messages: {} ranks: run it with mpirun -n 2 and --imbrex-pes 1\n", size);
    MPI_Finalize();
    return 2;
  }
  const double before[2] = {raw(rank, 8), raw(rank, 1024)};
  const int code = ix::run(argc, argv, &start);
  const double after[2] = {raw(rank, 8), raw(rank, 1024)};
  if (rank == 0 && code == 0) {
    fmt::print("{:>8} {:>12} {:>12} {:>14} {:>10}\n", "bytes", "raw before", "raw after", "chare to chare",
               "above raw");
    for (int i = 0; i < 2; ++i) {
      const double base = (before[i] + after[i]) / 2;
      fmt::print("{:>8} {:>9.0f} ns {:>9.0f} ns {:>11.0f} ns {:>7.0f} ns\n", i == 0 ? 8 : 1024, before[i], after[i],
                 measured[i], measured[i] - base);
    }
    fmt::print(
        "{{\"raw_8_ns\":[{:.1f},{:.1f}],\"chare_8_ns\":{:.1f},\"raw_1024_ns\":[{:.1f},{:.1f}],\"chare_1024_ns\":{:.1f}}"
        "}\n",
        before[0], after[0], measured[0], before[1], after[1], measured[1]);
  }
  MPI_Finalize();
  return code;
}
