#include "raw/raw_ucx.h"

#include "exchanges/player.h"
#include "raw/quiet_barrier.h"

namespace pingpong {
namespace {

constexpr std::uint64_t data_tag = 1;
constexpr std::uint64_t answer_tag = 2;
constexpr std::uint64_t whole_tag = ~std::uint64_t{0};

ucp_request_param_t memory_of(ix::memory_kind kind) {
  ucp_request_param_t p{};
  p.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  p.memory_type = ix::ucx_memory_type(kind);
  return p;
}

}  // namespace

bool raw_ucx::takes_gpu_memory(int rank) { return ix::ucx_context(rank, 2, 2).reaches_gpus(); }

raw_ucx::raw_ucx(player& self, ix::device& d, const equipment& e)
    : self_(self),
      window_(e.window),
      rank_(self.me()),
      context_(rank_, 2, 2),
      worker_(context_),
      memory_(d, e.largest, staged_memory::slots_for(e.largest, e.window), fmt::format("UCX's player {}", rank_)) {
  agree_on_addresses();
}

void raw_ucx::agree_on_addresses() {
  const mpi_players& mpi = *mpi_of_players();
  addresses_.all.resize(2);
  quiet_barrier();
  for (int r = 0; r < 2; ++r) {
    auto& address = addresses_.all[static_cast<std::size_t>(r)];
    if (r == rank_) address = worker_.address();
    std::uint64_t size = address.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, r, mpi.comm());
    address.resize(size);
    MPI_Bcast(address.data(), static_cast<int>(size), MPI_BYTE, r, mpi.comm());
  }
  worker_.know(addresses_, nullptr);
}

void raw_ucx::close() {
  worker_.expect_closing();
  worker_.begin_close(false);
  while (!worker_.closed()) worker_.progress();
  await_quiet();
  closed_ = true;
}

raw_ucx::~raw_ucx() {
  if (closed_) return;
  worker_.begin_close(true);
  while (!worker_.closed()) worker_.progress();
}

void* raw_ucx::start_send(const std::byte* from, std::size_t bytes, ix::memory_kind kind, std::uint64_t tag) {
  const ucp_request_param_t param = memory_of(kind);
  return ucp_tag_send_nbx(worker_.reach(static_cast<std::size_t>(1 - rank_)).endpoint, from, bytes, tag, &param);
}

void* raw_ucx::start_receive(std::byte* to, std::size_t bytes, ix::memory_kind kind, std::uint64_t tag) {
  const ucp_request_param_t param = memory_of(kind);
  return ucp_tag_recv_nbx(worker_.get(), to, bytes, tag, whole_tag, &param);
}

void raw_ucx::finish(void* request) {
  if (request == nullptr) return;
  if (UCS_PTR_IS_ERR(request)) ix::throw_ucx_error(UCS_PTR_STATUS(request), "a tag message", rank_, 1 - rank_);
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) worker_.progress();
  ucp_request_free(request);
  ix::ucx_check(status, "a tag message", rank_, 1 - rank_);
}

void raw_ucx::send(std::size_t bytes) {
  const auto out = memory_.out(bytes);
  finish(start_send(out.data, bytes, out.kind, data_tag));
}

void raw_ucx::receive(std::size_t bytes) {
  const auto in = memory_.in(bytes);
  finish(start_receive(in.data, bytes, in.kind, data_tag));
}

ix::task<> raw_ucx::rally(std::size_t bytes, int trips) {
  for (int i = 0; i < trips; ++i) {
    if (self_.serves()) send(bytes);
    receive(bytes);
    if (!self_.serves()) send(bytes);
  }
  co_return;
}

void raw_ucx::send_window(std::size_t bytes) {
  const auto out = memory_.out(bytes);
  for (int i = 0; i < window_; ++i) requests_.push_back(start_send(out.data, bytes, out.kind, data_tag));
  for (void* r : requests_) finish(r);
  requests_.clear();
  std::byte ack{};
  finish(start_receive(&ack, 1, ix::memory_kind::host, answer_tag));
}

void raw_ucx::receive_window(std::size_t bytes) {
  for (int i = 0; i < window_; ++i) {
    const auto in = memory_.in(bytes, i);
    requests_.push_back(start_receive(in.data, bytes, in.kind, data_tag));
  }
  for (void* r : requests_) finish(r);
  requests_.clear();
  const std::byte ack{};
  finish(start_send(&ack, 1, ix::memory_kind::host, answer_tag));
}

ix::task<> raw_ucx::burst(std::size_t bytes, int rounds) {
  for (int r = 0; r < rounds; ++r) self_.serves() ? send_window(bytes) : receive_window(bytes);
  co_return;
}

ix::task<> raw_ucx::fill(std::size_t bytes, std::uint64_t round) { return memory_.fill(bytes, round, self_.me()); }

ix::task<std::uint64_t> raw_ucx::wrong(std::size_t bytes, std::uint64_t round) {
  return memory_.wrong(bytes, round, 1 - self_.me());
}

void raw_ucx::await_quiet() {
  quiet_barrier([this] { worker_.progress(); });
}

}  // namespace pingpong
