// One way between two ranks, in turns within one run: MPI_Send and MPI_Recv, the MPI transport, UCX active messages,
// the UCX transport. The transports alone (executor, slab, poll), without objects. Usage: mpirun -n 2
// bench_transport_ping_pong [ROUNDS]
#include <fmt/format.h>

#include "imbrex/base/build_config.h"

#if IMBREX_HAVE_MPI

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/comm/mpi/mpi_transport.h"
#if IMBREX_HAVE_UCX
#include "imbrex/comm/ucx/ucx_transport.h"
#include "imbrex/comm/ucx/ucx_worker.h"
#endif

namespace {

using namespace imbrex;  // NOLINT: a benchmark

void discard_message(work* item, work_action) { wire_message::destroy(static_cast<wire_message*>(item)); }

/// One way of exchanging bytes with the other rank.
struct side {
  virtual ~side() = default;
  virtual void send(std::size_t size) = 0;
  virtual void receive(std::size_t size) = 0;
};

class raw_mpi final : public side {
 public:
  explicit raw_mpi(std::size_t largest) : bytes_(largest) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_rank(comm_, &rank_);
  }
  ~raw_mpi() override { MPI_Comm_free(&comm_); }
  void send(std::size_t size) override {
    MPI_Send(bytes_.data(), static_cast<int>(size), MPI_BYTE, 1 - rank_, 0, comm_);
  }
  void receive(std::size_t size) override {
    MPI_Recv(bytes_.data(), static_cast<int>(size), MPI_BYTE, 1 - rank_, 0, comm_, MPI_STATUS_IGNORE);
  }

 private:
  std::vector<char> bytes_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
};

class over_transport final : public side {
 public:
  explicit over_transport(std::unique_ptr<transport> t) : comm_(std::move(t)) {
    executor::set_current(&inbox_);
    comm_->start({.first_pe = comm_->rank(), .pes = {&inbox_}, .act = &discard_message});
  }
  ~over_transport() override {
    executor::set_current(&inbox_);
    comm_->stop({});
    executor::set_current(nullptr);
  }
  void send(std::size_t size) override {
    executor::set_current(&inbox_);
    wire_message* m = wire_message::make(size);
    m->header.from = comm_->rank();
    m->header.to = 1 - comm_->rank();
    std::memcpy(m->payload(), &touched_, sizeof touched_);  // packing is the application's, with either
    comm_->send(1 - comm_->rank(), m);
  }
  void receive(std::size_t) override {
    executor::set_current(&inbox_);
    work* item = nullptr;
    while ((item = inbox_.next()) == nullptr) comm_->poll();
    auto* m = static_cast<wire_message*>(item);
    std::memcpy(&touched_, m->payload(), sizeof touched_);
    wire_message::destroy(m);
  }

 private:
  executor inbox_;
  std::unique_ptr<transport> comm_;
  std::uint64_t touched_ = 0;
};

#if IMBREX_HAVE_UCX
/// UCX alone, set up as the transport sets it up.
class raw_ucx final : public side {
 public:
  raw_ucx(rank_id rank, std::size_t largest) : rank_(rank), context_(rank, 2, 2), worker_(context_), bytes_(largest) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = 1;
    handler.cb = &raw_ucx::arrived;
    handler.arg = this;
    ucx_check(ucp_worker_set_am_recv_handler(worker_.get(), &handler), "ucp_worker_set_am_recv_handler", rank);
    addresses_.all.resize(2);
    for (int r = 0; r < 2; ++r) {
      auto& address = addresses_.all[static_cast<std::size_t>(r)];
      if (r == rank) address = worker_.address();
      std::uint64_t size = address.size();
      MPI_Bcast(&size, 1, MPI_UINT64_T, r, MPI_COMM_WORLD);
      address.resize(size);
      MPI_Bcast(address.data(), static_cast<int>(size), MPI_BYTE, r, MPI_COMM_WORLD);
    }
    worker_.know(addresses_, nullptr);
  }
  ~raw_ucx() override {
    worker_.begin_close(false);
    while (!worker_.closed()) worker_.progress();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int over = 0; over == 0; worker_.progress()) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
  }
  void send(std::size_t size) override {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    finish(ucp_am_send_nbx(worker_.reach(static_cast<std::size_t>(1 - rank_)).endpoint, 1, nullptr, 0, bytes_.data(),
                           size, &param));
  }
  void receive(std::size_t) override {
    while (num_arrived_ == 0) worker_.progress();
    --num_arrived_;
    if (fetching_ != nullptr) finish(std::exchange(fetching_, nullptr));
  }

 private:
  void finish(void* request) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) throw_ucx_error(UCS_PTR_STATUS(request), "an active message", rank_, 1 - rank_);
    while (ucp_request_check_status(request) == UCS_INPROGRESS) worker_.progress();
    ucp_request_free(request);
  }
  static ucs_status_t arrived(void* of, const void*, std::size_t, void* data, std::size_t size,
                              const ucp_am_recv_param_t* how) {
    auto& self = *static_cast<raw_ucx*>(of);
    if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      ucp_request_param_t param{};
      param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
      param.memory_type = UCS_MEMORY_TYPE_HOST;
      self.fetching_ = ucp_am_recv_data_nbx(self.worker_.get(), data, self.bytes_.data(), size, &param);
    } else {
      std::memcpy(self.bytes_.data(), data, size);
    }
    ++self.num_arrived_;
    return UCS_OK;
  }

  const rank_id rank_;
  ucx_context context_;
  ucx_worker worker_;
  ucx_addresses addresses_;
  std::vector<char> bytes_;
  int num_arrived_ = 0;
  void* fetching_ = nullptr;
};
#endif

void trip(side& s, rank_id rank, std::size_t size) {
  if (rank == 0) s.send(size);
  s.receive(size);
  if (rank == 1) s.send(size);
}

/// Nanoseconds one way, of a round of `trips` there and back.
double round_of(side& s, rank_id rank, std::size_t size, int trips) {
  const std::int64_t begin = now_ns();
  for (int i = 0; i < trips; ++i) trip(s, rank, size);
  const std::int64_t end = now_ns();
  trip(s, rank, 8);  // nothing large is under way any more that needs this way's progress
  return static_cast<double>(end - begin) / (2.0 * trips);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

struct contender {
  std::string name;
  std::unique_ptr<side> way;
};

void measure(const std::vector<contender>& all, rank_id rank, std::size_t size, int rounds) {
  // Short enough to fit between the interruptions of a busy machine.
  const int trips = size <= 8192 ? 200 : size <= 100'000 ? 20 : 2;
  std::vector<std::vector<double>> ns(all.size());
  for (int i = -20; i < rounds; ++i) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      const double value = round_of(*all[k].way, rank, size, trips);
      if (i >= 0) ns[k].push_back(value);
    }
  }
  if (rank != 0) return;
  for (const auto& [what, q] : {std::pair("median", 0.5), std::pair("fastest 10%", 0.1)}) {
    fmt::print("{:>9} {:>12}", size, what);
    for (const auto& values : ns) fmt::print(" {:>10.0f}", quantile(values, q));
    if (size >= 1'000'000) {
      for (const auto& values : ns) fmt::print(" {:>6.2f} GB/s", static_cast<double>(size) / quantile(values, q));
    }
    fmt::print("\n");
  }
}

int run(int rounds) {
  int rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  if (num_ranks != 2) throw usage_error(fmt::format("{} ranks: start it with mpirun -n 2", num_ranks));
  constexpr std::size_t sizes[] = {8, 1024, 8192, 65'536, 1 << 20, 8 << 20};
  slab memory;
  memory.bind_to_this_thread();
  {
    std::vector<contender> all;
    all.push_back({"raw MPI", std::make_unique<raw_mpi>(sizes[5])});
    all.push_back({"mpi", std::make_unique<over_transport>(std::make_unique<mpi_transport>())});
#if IMBREX_HAVE_UCX
    all.push_back({"raw UCX", std::make_unique<raw_ucx>(rank, sizes[5])});
    all.push_back({"ucx", std::make_unique<over_transport>(std::make_unique<ucx_transport>())});
#endif
    if (rank == 0) {
      fmt::print("{}\n", mpi_library_description());
#if IMBREX_HAVE_UCX
      fmt::print("{}\n", ucx_library_description());
#endif
      fmt::print("one way in ns, {} rounds\n{:>9} {:>12}", rounds, "bytes", "");
      for (const contender& c : all) fmt::print(" {:>10}", c.name);
      fmt::print("\n");
    }
    for (const std::size_t size : sizes) measure(all, rank, size, size < 100'000 ? rounds : rounds / 5 + 1);
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
    fmt::print(stderr, "bench_transport_ping_pong: {}\n", e.what());
    exit_code = e.exit_code();
  }
  MPI_Finalize();
  return exit_code;
}

#else

int main() {
  fmt::print(stderr, "bench_transport_ping_pong: this build is without MPI: {}\n", IMBREX_NOTE_MPI);
  return 1;
}

#endif
