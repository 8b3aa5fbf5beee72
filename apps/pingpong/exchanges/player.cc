#include "exchanges/player.h"

#include "exchanges/channel_exchange.h"
#include "exchanges/entry_exchange.h"
#include "exchanges/message_exchange.h"
#include "exchanges/one_sided_exchange.h"
#include "imbrex/base/build_config.h"
#include "support/pe_time.h"
#if IMBREX_HAVE_MPI
#include "imbrex/comm/mpi/mpi_gpu_support.h"
#include "raw/quiet_barrier.h"
#include "raw/raw_mpi.h"
#endif
#if IMBREX_HAVE_UCX
#include "raw/raw_ucx.h"
#endif
#if IMBREX_HAVE_CUDA
#include "raw/peer_copy.h"
#endif

namespace pingpong {
namespace {

/// Each mode with a channel has a port of its own.
int port_of(mode m) { return static_cast<int>(m); }

}  // namespace

player::player() = default;
player::~player() = default;

ix::device& player::gpu_of_other() const {
  const ix::pe_id last = rt().num_pes() - 1;
  return rt().gpu(rt().gpu_of(serves() ? last : 0));
}

place player::where() {
  place p;
  p.pe = pe();
  p.rank = rank();
  if (on_device().kind() == ix::device_kind::cuda) {
    p.gpu = on_device().number();
    p.gpu_name = on_device().name();
  }
#if IMBREX_HAVE_MPI
  p.mpi = mpi_of_players() != nullptr;
  if (p.mpi && p.gpu >= 0) p.mpi_takes_gpu_memory = ix::mpi_takes_gpu_memory();
#endif
#if IMBREX_HAVE_UCX
  if (p.mpi && p.gpu >= 0) p.ucx_takes_gpu_memory = raw_ucx::takes_gpu_memory(rank());
#endif
  return p;
}

ix::task<> player::open(equipment e) {
  entries_ = std::make_unique<entry_exchange>(*this, e.window);
  auto both = meet();
  co_await both;  // the raw ones agree on addresses, which blocks
  for (const mode m : e.modes) ends_[static_cast<std::size_t>(m)] = make(m, e);
}

std::unique_ptr<exchange> player::make(mode m, const equipment& e) {
  switch (m) {
    case mode::entry: return nullptr;
    case mode::channel_host:
      return std::make_unique<channel_exchange>(*this, on_host(), port_of(m), e, host_waits::never);
    case mode::channel_device:
      return std::make_unique<channel_exchange>(*this, on_device(), port_of(m), e, host_waits::in_every_hop);
    case mode::channel_device_chained:
      return std::make_unique<channel_exchange>(*this, on_device(), port_of(m), e, host_waits::after_a_chain);
    case mode::message_device: return std::make_unique<message_exchange>(*this, e, host_waits::in_every_hop);
    case mode::message_device_chained: return std::make_unique<message_exchange>(*this, e, host_waits::after_a_chain);
    case mode::put_host: return std::make_unique<one_sided_exchange>(*this, on_host(), m, e);
    case mode::put_device: return std::make_unique<one_sided_exchange>(*this, on_device(), m, e);
    case mode::get_host: return std::make_unique<one_sided_exchange>(*this, on_host(), m, e);
    case mode::get_device: return std::make_unique<one_sided_exchange>(*this, on_device(), m, e);
#if IMBREX_HAVE_MPI
    case mode::mpi_host: return std::make_unique<raw_mpi>(*this, on_host(), e);
    case mode::mpi_device: return std::make_unique<raw_mpi>(*this, on_device(), e);
#endif
#if IMBREX_HAVE_UCX
    case mode::ucx_host: return std::make_unique<raw_ucx>(*this, on_host(), e);
    case mode::ucx_device: return std::make_unique<raw_ucx>(*this, on_device(), e);
#endif
#if IMBREX_HAVE_CUDA
    case mode::copy_device: return std::make_unique<peer_copy>(*this, e, host_waits::in_every_hop);
    case mode::copy_device_chained: return std::make_unique<peer_copy>(*this, e, host_waits::after_a_chain);
#endif
    default: throw ix::not_built(fmt::format("mode {} is not part of this build", name(m)));
  }
}

ix::task<> player::meet() {
  const int here = ++num_meetings_;
  other().send<&player::met>(here);
  co_await met(here);
}

ix::task<> player::play(exchange& x, plan p) {
  if (p.what == plan::kind::rally) {
    auto played = x.rally(p.bytes, p.count);
    co_await played;
  } else if (p.what == plan::kind::burst) {
    auto played = x.burst(p.bytes, p.count);
    co_await played;
  } else {
    auto played = entries_->ticks(p.count, p.what == plan::kind::ticks_together);
    co_await played;
  }
}

ix::task<outcome> player::measure(plan p) {
  exchange& x = p.by == mode::entry ? *entries_ : *ends_[static_cast<std::size_t>(p.by)];
  if (p.round != 0) {
    auto filled = x.fill(p.bytes, p.round);
    co_await filled;
  }
  x.expect(p);
  auto both = meet();
  co_await both;
  x.await_quiet();
  outcome o;
  const std::int64_t begin = apps::pe_time_ns();
  auto played = play(x, p);
  co_await played;
  o.ns = apps::pe_time_ns() - begin;
  x.await_quiet();
  if (p.round != 0) {
    auto compared = x.wrong(p.bytes, p.round);
    o.wrong = co_await compared;
  } else if (p.what == plan::kind::ticks || p.what == plan::kind::ticks_together) {
    o.wrong = entries_->wrong_ticks();
  }
  co_return o;
}

ix::task<> player::close() {
  auto both = meet();
  co_await both;
  for (const auto& end : ends_) {
    if (end != nullptr) end->close();
  }
  for (auto& end : ends_) end.reset();
}

void player::ball(std::vector<std::byte> b) { entries_->ball(std::move(b)); }
void player::shot(std::vector<std::byte> b) { entries_->shot(b.size()); }
ix::task<> player::parcel(ix::device_view<std::byte> data) { return parcels_for_->parcel(std::move(data)); }
ix::buffer_view<std::byte> player::post(ix::for_entry<&player::parcel>, std::size_t size) {
  return parcels_for_->place(size);
}
ix::global_pointer<std::byte> player::exposed_by(mode m) {
  return static_cast<one_sided_exchange&>(*ends_[static_cast<std::size_t>(m)]).exposed();
}
void player::tick(std::uint64_t number) { entries_->tick(number); }
void player::tick_with_others(std::uint64_t number) { entries_->tick(number); }

}  // namespace pingpong
