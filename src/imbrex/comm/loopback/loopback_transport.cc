#include "imbrex/comm/loopback/loopback_transport.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/loopback/loopback_desk.h"
#include "imbrex/comm/loopback/loopback_link.h"
#include "imbrex/comm/rank_lost.h"

namespace imbrex {

/// Where the ranks' threads wait for each other and exchange bytes.
class loopback_network::meeting {
 public:
  using parts = std::vector<std::vector<std::byte>>;

  explicit meeting(int num_ranks) : coming_(static_cast<std::size_t>(num_ranks)) {}

  /// Everyone's bytes once all ranks came; null when they did not within the limit (0: none).
  std::shared_ptr<const parts> exchange(rank_id rank, const std::vector<std::byte>& mine, std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    coming_[static_cast<std::size_t>(rank)] = mine;
    if (++num_here_ == coming_.size()) {
      num_here_ = 0;
      ++round_;
      met_ = std::make_shared<const parts>(coming_);
      all_here_.notify_all();
      return met_;
    }
    const auto over = [this, round] { return round_ != round; };
    if (limit.count() == 0) {
      all_here_.wait(lock, over);
    } else if (!all_here_.wait_for(lock, limit, over)) {
      return nullptr;
    }
    return met_;  // the next round cannot end before this rank joins it
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  parts coming_;
  std::size_t num_here_ = 0;
  std::uint64_t round_ = 0;
  std::shared_ptr<const parts> met_;
};

/// The links to one rank. Before any of these's own locks.
struct loopback_network::destination {
  std::mutex mutex;
  bool started = false;
  delivery to;
  std::vector<std::unique_ptr<link>> links;
};

namespace {
std::size_t checked(int num_ranks) {
  if (num_ranks < 1) throw usage_error(fmt::format("a loopback network of {} ranks: it needs at least one", num_ranks));
  return static_cast<std::size_t>(num_ranks);
}
}  // namespace

loopback_network::loopback_network(int num_ranks, const loopback_options& options)
    : num_ranks_(num_ranks),
      holds_(options.max_delay_us > 0 || options.fault != loopback_fault::none),
      options_(options),
      links_(checked(num_ranks) * checked(num_ranks)),
      destinations_(checked(num_ranks)) {
  if (options.max_delay_us < 0) {
    throw usage_error(fmt::format("a loopback delay of {} us: it cannot be negative", options.max_delay_us));
  }
  if (options.reorder && options.max_delay_us == 0) {
    throw usage_error(
        "a loopback network reorders only messages that it holds: give it a delay too (--imbrex-loopback-delay-us "
        "100)");
  }
  if ((options.fault != loopback_fault::none) != (options.fault_every > 0)) {
    throw usage_error("a loopback fault needs both its kind (fault) and how often it strikes (fault_every)");
  }
  meeting_ = std::make_unique<meeting>(num_ranks);
  desk_ = std::make_unique<desk>();
}

loopback_network::~loopback_network() = default;

loopback_network::link& loopback_network::between(rank_id from, rank_id to) {
  const auto place =
      static_cast<std::size_t>(from) * static_cast<std::size_t>(num_ranks_) + static_cast<std::size_t>(to);
  std::atomic<link*>& at = links_[place];
  if (link* const there = at.load(std::memory_order_acquire)) return *there;
  destination& d = destinations_[static_cast<std::size_t>(to)];
  const std::lock_guard lock(d.mutex);
  if (link* const there = at.load(std::memory_order_relaxed)) return *there;
  link& made = *d.links.emplace_back(std::make_unique<link>(from, to, options_));
  if (d.started) made.start(d.to);
  at.store(&made, std::memory_order_release);
  return made;
}

bool loopback_network::is_cut_off(rank_id from, rank_id to) {
  if (options_.lost < 0) [[likely]]
    return false;
  if (num_messages_.fetch_add(1, std::memory_order_relaxed) + 1 == options_.lost_after)
    is_lost_.store(true, std::memory_order_release);
  const rank_id lost = lost_rank();
  return lost >= 0 && (lost == from || lost == to);
}

void loopback_network::for_each_link_to(rank_id to, const std::function<void(link&)>& f) {
  destination& d = destinations_[static_cast<std::size_t>(to)];
  const std::lock_guard lock(d.mutex);
  for (const auto& l : d.links) f(*l);
}

void loopback_network::start(rank_id to, const delivery& how) {
  destination& d = destinations_[static_cast<std::size_t>(to)];
  const std::lock_guard lock(d.mutex);
  d.started = true;
  d.to = how;
  for (const auto& l : d.links) l->start(how);
}

loopback_transport::loopback_transport(std::shared_ptr<loopback_network> network, rank_id rank)
    : network_(std::move(network)), rank_(rank) {
  if (rank < 0 || rank >= num_ranks()) {
    throw usage_error(fmt::format("rank {} of a loopback network of {} ranks does not exist", rank, num_ranks()));
  }
}

void loopback_transport::start(const delivery& to) { network_->start(rank_, to); }

void loopback_transport::send(rank_id to, wire_message* m) {
  if (to < 0 || to >= num_ranks() || to == rank_) {
    wire_message::destroy(m);
    throw comm_error(
        fmt::format("rank {} cannot send to rank {}: the others are among 0 to {}", rank_, to, num_ranks() - 1));
  }
  if (network_->is_cut_off(rank_, to)) return wire_message::destroy(m);
  wire_message* copy = wire_message::make(m->header.size);
  std::memcpy(copy->wire_bytes(), m->wire_bytes(), m->wire_size());
  wire_message::destroy(m);
  network_->between(rank_, to).send(copy);
}

void loopback_transport::send_data(rank_id to, pe_id, std::uint64_t id, const data_view& from, transfer* done) {
  network_->desk_->bring(loopback_network::desk::side::send, rank_, to, id, from, done);
}

void loopback_transport::recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) {
  network_->desk_->bring(loopback_network::desk::side::receive, from, rank_, id, to, done);
}

bool loopback_transport::poll() {
  if (const rank_id lost = network_->lost_rank(); lost >= 0) [[unlikely]] {
    const std::string what = fmt::format("rank {} of {} is lost", lost, num_ranks());
    if (network_->options_.can_go_on) throw rank_lost(what);
    throw comm_error(what);
  }
  if (!network_->holds_) return false;
  bool any = false;
  network_->for_each_link_to(rank_, [&](loopback_network::link& l) { any |= l.poll(); });
  return any;
}

namespace {
job_end agree(const std::vector<std::vector<std::byte>>& ends) {
  job_end agreed;
  for (std::size_t r = 0; r < ends.size(); ++r) {
    std::uint64_t word = 0;
    from_bytes(ends[r], word);
    agreed = r == 0 ? job_end::of_word(word) : agreed_end(agreed, job_end::of_word(word));
  }
  return agreed;
}
}  // namespace

job_end loopback_transport::stop(const job_end& mine) {
  constexpr std::chrono::seconds limit_after_failure{5};
  const auto limit = [&](bool failed) { return failed ? limit_after_failure : std::chrono::seconds{0}; };
  // First nobody sends any more, then all free what they did not receive; the senders' slabs live until then.
  const auto all = network_->meeting_->exchange(rank_, to_bytes(mine.word()), limit(mine.failed));
  job_end agreed = all != nullptr ? agree(*all) : mine;
  network_->desk_->give_up(rank_);
  std::exception_ptr lost;
  network_->for_each_link_to(rank_, [&](loopback_network::link& l) {
    try {
      l.stop(agreed.failed);
    } catch (const comm_error& e) {
      lost = std::current_exception();
      agreed = {true, e.exit_code()};
    }
  });
  if (all != nullptr) {
    const auto at_last = network_->meeting_->exchange(rank_, to_bytes(agreed.word()), limit(agreed.failed));
    if (at_last != nullptr) agreed = agree(*at_last);
  }
  if (lost) std::rethrow_exception(lost);
  return agreed;
}

std::vector<std::vector<std::byte>> loopback_transport::all_gather(const std::vector<std::byte>& mine) {
  return *network_->meeting_->exchange(rank_, mine, std::chrono::seconds{0});
}

void loopback_transport::collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) {
  const auto everyone = network_->meeting_->exchange(rank_, std::move(mine), std::chrono::seconds{0});
  if (rank_ != 0) return;
  collected all(take);
  for (const std::vector<std::byte>& bytes : *everyone) all.add(bytes);
  all.finish();
}

void loopback_transport::abort(int exit_code) { std::_Exit(exit_code); }

}  // namespace imbrex
