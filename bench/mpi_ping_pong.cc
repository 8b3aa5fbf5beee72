// One way between two ranks: MPI_Send and MPI_Recv against the MPI transport alone (executor, slab, poll; no objects),
// in turns within one run. Usage: mpirun -n 2 bench_mpi_ping_pong [ROUNDS]
#include <fmt/format.h>

#include "imbrex/base/build_config.h"

#if IMBREX_HAVE_MPI

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/slab.h"
#include "imbrex/comm/mpi_transport.h"

namespace {

using namespace imbrex;  // NOLINT: a benchmark

constexpr int trips_per_round = 200;  // short enough to fit between the interruptions of a busy machine

void discard_message(work* item, work_action) { wire_message::destroy(static_cast<wire_message*>(item)); }

/// One rank of the pair; `round` measures one way in nanoseconds.
class raw_side {
 public:
  explicit raw_side(std::size_t size) : bytes_(size) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_rank(comm_, &rank_);
  }
  ~raw_side() { MPI_Comm_free(&comm_); }

  double round() {
    const std::int64_t begin = now_ns();
    for (int i = 0; i < trips_per_round; ++i) {
      if (rank_ == 0) send();
      MPI_Recv(bytes_.data(), static_cast<int>(bytes_.size()), MPI_BYTE, 1 - rank_, 0, comm_, MPI_STATUS_IGNORE);
      if (rank_ == 1) send();
    }
    return static_cast<double>(now_ns() - begin) / (2.0 * trips_per_round);
  }

 private:
  void send() { MPI_Send(bytes_.data(), static_cast<int>(bytes_.size()), MPI_BYTE, 1 - rank_, 0, comm_); }

  std::vector<char> bytes_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
};

class transport_side {
 public:
  transport_side(mpi_transport& comm, executor& inbox, std::size_t size) : comm_(comm), inbox_(inbox), size_(size) {}

  double round() {
    const std::int64_t begin = now_ns();
    for (int i = 0; i < trips_per_round; ++i) {
      if (comm_.rank() == 0) send();
      receive();
      if (comm_.rank() == 1) send();
    }
    return static_cast<double>(now_ns() - begin) / (2.0 * trips_per_round);
  }

  /// Rank 0 sends as fast as it can; nanoseconds per message.
  double flood() {
    const std::int64_t begin = now_ns();
    for (int i = 0; i < trips_per_round; ++i) {
      if (comm_.rank() == 0) {
        send();
        if (i % 16 == 0) comm_.poll();
      } else {
        receive();
      }
    }
    if (comm_.rank() == 0) receive();
    if (comm_.rank() == 1) send();
    return static_cast<double>(now_ns() - begin) / trips_per_round;
  }

 private:
  void send() {
    wire_message* m = wire_message::make(size_);
    m->header.from = comm_.rank();
    m->header.to = 1 - comm_.rank();
    std::memcpy(m->payload(), &touched_, sizeof touched_);  // packing is the application's, with either
    comm_.send(1 - comm_.rank(), m);
  }
  void receive() {
    work* item = nullptr;
    while ((item = inbox_.next()) == nullptr) comm_.poll();
    auto* m = static_cast<wire_message*>(item);
    std::memcpy(&touched_, m->payload(), sizeof touched_);
    wire_message::destroy(m);
  }

  mpi_transport& comm_;
  executor& inbox_;
  std::size_t size_;
  std::uint64_t touched_ = 0;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void measure(mpi_transport& comm, executor& inbox, std::size_t size, int rounds) {
  raw_side raw(size);
  transport_side ours(comm, inbox, size);
  std::vector<double> raw_ns;
  std::vector<double> our_ns;
  std::vector<double> flood_ns;
  for (int i = -20; i < rounds; ++i) {
    const double values[] = {raw.round(), ours.round(), ours.flood()};
    if (i < 0) continue;
    raw_ns.push_back(values[0]);
    our_ns.push_back(values[1]);
    flood_ns.push_back(values[2]);
  }
  if (comm.rank() != 0) return;
  const auto print = [&](const char* what, double q) {
    const double r = quantile(raw_ns, q);
    const double o = quantile(our_ns, q);
    fmt::print("{:>8} {:>12} {:>10.0f} {:>10.0f} {:>+11.0f} {:>10.0f}\n", size, what, r, o, o - r,
               quantile(flood_ns, q));
  };
  print("median", 0.5);
  print("fastest 10%", 0.1);
}

int run(int rounds) {
  mpi_transport comm;
  if (comm.num_ranks() != 2) throw usage_error(fmt::format("{} ranks: start it with mpirun -n 2", comm.num_ranks()));
  slab memory;
  memory.bind_to_this_thread();
  {
    executor inbox;
    executor::set_current(&inbox);
    comm.start({.first_pe = comm.rank(), .pes = {&inbox}, .act = &discard_message});
    if (comm.rank() == 0) {
      fmt::print("{}; one way in ns, {} rounds of {} trips\n", mpi_library_description(), rounds, trips_per_round);
      fmt::print("{:>8} {:>12} {:>10} {:>10} {:>11} {:>10}\n", "bytes", "", "raw", "transport", "difference", "flood");
    }
    for (const std::size_t size : {std::size_t{8}, std::size_t{1024}}) measure(comm, inbox, size, rounds);
    comm.stop(false);
    executor::set_current(nullptr);
  }
  slab::unbind_this_thread();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int exit_code = 0;
  try {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 500;
    if (rounds < 1) throw usage_error(fmt::format("{} rounds: give at least 1", argv[1]));
    exit_code = run(rounds);
  } catch (const error& e) {
    fmt::print(stderr, "bench_mpi_ping_pong: {}\n", e.what());
    exit_code = e.exit_code();
  }
  MPI_Finalize();
  return exit_code;
}

#else

int main() {
  fmt::print(stderr, "bench_mpi_ping_pong: this build is without MPI: {}\n", IMBREX_NOTE_MPI);
  return 1;
}

#endif
