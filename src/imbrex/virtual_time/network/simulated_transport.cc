#include "imbrex/virtual_time/network/simulated_transport.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/serialize.h"
#include "imbrex/virtual_time/core/virtual_pe.h"

namespace imbrex {

namespace {
/// The PE whose turn it is pays for what it asks of the network; its time then.
std::int64_t pay(simulation& all, double us) {
  executor* const pe = executor::current();
  if (pe == nullptr) return all.now();
  virtual_pe& v = virtual_pe::of(*pe);
  v.pay(pe_cost::message, ns_of_us(us));
  return v.now_ns();
}
}  // namespace

/// A message under way: it has yet to set out, or to arrive.
struct simulated_network::flight : timed_event {
  simulated_network* network;
  wire_message* message;
  rank_id from, to;
};

/// Data whose sender did not wait for the receiver.
struct simulated_network::data_flight {
  std::vector<std::byte> bytes;  // empty where there are none to copy
  std::int64_t arrived = -1;     // not known yet
  data_end to;                   // `done` is null: the receiver is not there yet
  // As over any transport here, a send has ended when it has been received: who counts what is under way relies on it.
  transfer* from = nullptr;
  std::int64_t word = 0;
};

simulated_network::~simulated_network() {
  for (auto& [key, first] : waiting_) delete first.set_out;
}

// ------------------------------------------------------------------------------------------------ messages

simulated_network::pair_of_pes& simulated_network::pair_of(const wire_message& m) {
  return pairs_[(static_cast<std::uint64_t>(m.header.from) << 32) | static_cast<std::uint32_t>(m.header.to)];
}

void simulated_network::set_out(wire_message* m, rank_id from, rank_id to) {
  if (all_.is_over()) return wire_message::destroy(m);  // of a destructor
  ++num_messages_;
  num_bytes_ += m->wire_size();
  std::int64_t when = pay(all_, model_.description().cpu.send_us);
  if (model_.waits_for_receiver(m->wire_size())) when += 2 * model_.word_ns(from, to);
  std::int64_t& set_out_before = pair_of(*m).set_out;
  when = set_out_before = std::max(when, set_out_before);
  auto* const f = new (slab::allocate(sizeof(flight))) flight{{}, this, m, from, to};
  f->happen = [](timed_event& e) {
    auto& self = static_cast<flight&>(e);
    simulated_network& net = *self.network;
    const auto way = net.model_.send({self.from, memory_kind::host, -1}, {self.to, memory_kind::host, -1},
                                     self.message->wire_size());
    std::int64_t& last = net.pair_of(*self.message).arrives;
    last = std::max(last, way.arrived);
    self.happen = [](timed_event& there) {
      auto& landed = static_cast<flight&>(there);
      simulated_network& home = *landed.network;
      wire_message* const message = landed.message;
      const delivery& to_rank = home.deliveries_[static_cast<std::size_t>(landed.to)];
      slab::free(&landed);
      const auto slot = static_cast<std::size_t>(static_cast<std::int64_t>(message->header.to) - to_rank.first_pe);
      if (slot >= to_rank.pes.size()) return wire_message::destroy(message);
      virtual_pe& pe = virtual_pe::of(*to_rank.pes[slot]);
      pe.owe(ns_of_us(home.model_.description().cpu.receive_us));
      pe.deliver([&] { to_rank.post(message); });
    };
    net.all_.at(last, self);
  };
  all_.at(when, *f);
}

// ------------------------------------------------------------------------------------------------ data

bool simulated_network::have_bytes(const data_view& a, const data_view& b) const {
  return a.bytes > 0 && !ghosts_.contains(a.data) && !ghosts_.contains(b.data);
}

void simulated_network::complete(transfer* done) {
  virtual_pe& pe = virtual_pe::of(*done->pe);
  pe.deliver([&] { done->complete(); });
}

void simulated_network::complete_at(std::int64_t when, transfer* done) {
  all_.call_at(when, [this, done] { complete(done); });
}

void simulated_network::send(const data_key& k, const data_end& from) {
  num_bytes_ += from.view.bytes;
  if (!model_.waits_for_receiver(from.view.bytes)) return set_out_unasked(k, from);
  const auto [at, first] = waiting_.try_emplace(k, party{true, from, nullptr});
  if (first) return;
  const party other = at->second;
  waiting_.erase(at);
  if (other.sends) throw comm_error(fmt::format("data {} from rank {} to rank {} are sent twice", k.id, k.from, k.to));
  meet(from, other.who);
}

void simulated_network::receive(const data_key& k, const data_end& to) {
  const auto [at, first] = waiting_.try_emplace(k, party{false, to, nullptr});
  if (first) return;
  const party other = at->second;
  waiting_.erase(at);
  if (!other.sends)
    throw comm_error(fmt::format("data {} from rank {} to rank {} are received twice", k.id, k.from, k.to));
  if (other.set_out != nullptr) return take(*other.set_out, to);
  meet(other.who, to);
}

/// Small data go at once, and wait at the receiver's.
void simulated_network::set_out_unasked(const data_key& k, const data_end& from) {
  auto* const f = new data_flight;
  if (from.view.bytes > 0 && !ghosts_.contains(from.view.data))
    f->bytes.assign(from.view.data, from.view.data + from.view.bytes);
  const auto [at, first] = waiting_.try_emplace(k, party{true, from, f});
  if (!first) {
    const data_end to = at->second.who;
    waiting_.erase(at);
    f->to = to;
  }
  all_.call_at(from.since, [this, f, from, to = network_model::end{k.to, memory_kind::host, -1}]() mutable {
    if (f->to.done != nullptr) to = place_of(f->to);
    const auto way = model_.send(place_of(from), to, from.view.bytes);
    f->from = from.done;
    f->word = model_.word_ns(from.rank, to.rank);
    f->arrived = way.arrived;
    if (f->to.done != nullptr) take(*f, f->to);
  });
}

void simulated_network::take(data_flight& f, const data_end& to) {
  f.to = to;
  if (f.arrived < 0) return;  // it has yet to set out, and comes by here again
  all_.call_at(std::max(f.arrived, to.since), [this, flown = &f] {
    const data_end at = flown->to;
    if (!flown->bytes.empty() && !ghosts_.contains(at.view.data))
      std::memcpy(at.view.data, flown->bytes.data(), std::min<std::uint64_t>(at.view.bytes, flown->bytes.size()));
    complete(at.done);
    complete_at(all_.now() + flown->word, flown->from);
    delete flown;
  });
}

/// Large data: the sender's word of them has come, and the receiver asks for them.
void simulated_network::meet(const data_end& from, const data_end& to) {
  if (from.view.bytes != to.view.bytes) {
    throw comm_error(fmt::format("data from rank {} to rank {}: {} bytes on one side and {} on the other", from.rank,
                                 to.rank, from.view.bytes, to.view.bytes));
  }
  const std::int64_t word = model_.word_ns(from.rank, to.rank);
  all_.call_at(std::max(from.since + word, to.since) + word, [this, from, to, word] {
    const auto way = model_.send(place_of(from), place_of(to), from.view.bytes);
    all_.call_at(way.arrived, [this, from, to, word] {
      if (have_bytes(from.view, to.view)) std::memcpy(to.view.data, from.view.data, from.view.bytes);
      complete(to.done);
      complete_at(all_.now() + word, from.done);
    });
  });
}

/// A rank that ends: what it brought and nobody came for is posted, so that its owner can free it.
void simulated_network::give_up(rank_id rank) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    party& p = at->second;
    if (p.who.rank != rank) {
      ++at;
      continue;
    }
    p.who.done->complete();
    delete p.set_out;
    at = waiting_.erase(at);
  }
}

// ------------------------------------------------------------------------------------------------ all together

const std::vector<std::vector<std::byte>>& simulated_network::gather(rank_id mine, std::vector<std::byte> bytes) {
  meeting& m = meeting_;
  ranks_.wait_until([&] { return m.num_left == 0; });  // all have gone from the one before
  m.coming[static_cast<std::size_t>(mine)] = std::move(bytes);
  const std::uint64_t number = m.number;
  if (++m.num_coming == m.coming.size()) {
    m.num_coming = 0;
    m.met = std::exchange(m.coming, std::vector<std::vector<std::byte>>(m.coming.size()));
    m.num_left = m.met.size();
    ++m.number;
  }
  ranks_.wait_until([&] { return m.number != number; });
  --m.num_left;
  return m.met;
}

int simulated_transport::num_local_ranks() const {
  const job_shape& shape = network_.model().shape();
  const int first = rank_ / shape.ranks_per_node * shape.ranks_per_node;
  return std::min(shape.ranks_per_node, shape.num_ranks - first);
}

std::string simulated_transport::simulated_host() const {
  return fmt::format("{} node {}", network_.model().description().name, network_.model().shape().node_of(rank_));
}

void simulated_transport::start(const delivery& to) { network_.deliveries_[static_cast<std::size_t>(rank_)] = to; }

void simulated_transport::send(rank_id to, wire_message* m) { network_.set_out(m, rank_, to); }

bool simulated_transport::reaches(memory_kind kind) const {
  return kind != memory_kind::device || network_.model().description().network.gpu_direct;
}

void simulated_transport::send_data(rank_id to, pe_id, std::uint64_t id, const data_view& from, transfer* done) {
  const std::int64_t now = pay(network_.all_, network_.model().description().cpu.transfer_us);
  network_.send({rank_, to, id}, {rank_, from, done, now});
}

void simulated_transport::recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) {
  const std::int64_t now = pay(network_.all_, network_.model().description().cpu.transfer_us);
  network_.receive({from, rank_, id}, {rank_, to, done, now});
}

job_end simulated_transport::stop(const job_end& mine) {
  const auto exchange = [&](const job_end& e) {
    job_end agreed;
    bool first = true;
    for (const auto& bytes : network_.gather(rank_, to_bytes(e.word()))) {
      std::uint64_t word = 0;
      from_bytes(bytes, word);
      const job_end theirs = job_end::of_word(word);
      agreed = std::exchange(first, false) ? theirs : agreed_end(agreed, theirs);
    }
    return agreed;
  };
  const job_end agreed = exchange(mine);
  network_.give_up(rank_);
  return exchange(agreed);
}

std::vector<std::vector<std::byte>> simulated_transport::all_gather(const std::vector<std::byte>& mine) {
  return network_.gather(rank_, mine);
}

void simulated_transport::collect(std::vector<std::byte> mine,
                                  const std::function<void(std::vector<std::byte>)>& take) {
  const auto& everyone = network_.gather(rank_, std::move(mine));
  if (rank_ != 0) return;
  collected all(take);
  for (const std::vector<std::byte>& bytes : everyone) all.add(bytes);
  all.finish();
}

void simulated_transport::abort(int exit_code) {
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

}  // namespace imbrex
