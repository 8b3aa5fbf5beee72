#include "imbrex/pe/message_bundles.h"

#include <cstring>

#include <fmt/format.h>

#include "imbrex/comm/transport.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

namespace {

constexpr std::uint64_t bundle_bytes = 8192 - sizeof(wire_header);  // so much travels at once over every transport

std::uint64_t record_bytes(std::uint64_t payload) { return sizeof(wire_header) + (payload + 15) / 16 * 16; }

[[gnu::cold]] void refuse(scheduler& pe, wire_message* m, const std::vector<work*>& taken) {
  for (work* w : taken) wire_message::destroy(static_cast<wire_message*>(w));
  pe.fail_job(fmt::format("a bundle of messages from PE {} ends in the middle of one", m->header.from), 1);
  wire_message::destroy(m);
}

/// Takes the messages out again, and puts them where the bundle stood in its queue.
void take_apart(scheduler& pe, wire_message* m) {
  thread_local std::vector<work*> all;
  all.clear();
  for (std::uint64_t at = 0; at < m->header.size;) {
    const std::uint64_t left = m->header.size - at;
    wire_header h;
    if (left >= sizeof h) std::memcpy(&h, m->payload() + at, sizeof h);
    if (left < sizeof h || h.size > left - sizeof h) return refuse(pe, m, all);
    wire_message* one = wire_message::make(h.size);
    std::memcpy(one->wire_bytes(), m->payload() + at, sizeof h + h.size);
    one->act = &scheduler::receive_in_turn;  // that of the bundle has come
    one->level = h.level;
    all.push_back(one);
    at += record_bytes(h.size);
  }
  pe.post_in_front(all);
  wire_message::destroy(m);
}

handler_info bundle_handler("imbrex bundle of messages", &take_apart);

}  // namespace

void message_bundles::discard() {
  for (const bundle& b : open_) wire_message::destroy(b.message);
  open_.clear();
}

message_bundles::bundle& message_bundles::open_for(const wire_header& h, std::uint64_t bytes) {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].to != h.to || open_[i].level != h.level) continue;
    if (open_[i].used + bytes <= bundle_bytes) return open_[i];
    send(i);
    break;
  }
  return open_.emplace_back(h.to, h.level, wire_message::make(bundle_bytes), 0, pe_.now_ns());
}

std::byte* message_bundles::add(const wire_header& h) {
  const std::uint64_t bytes = record_bytes(h.size);
  bundle& b = open_for(h, bytes);
  std::byte* const at = b.message->payload() + b.used;
  std::memcpy(at, &h, sizeof h);
  b.used += bytes;
  return at + sizeof h;
}

void message_bundles::flush(pe_id to) {
  for (std::size_t i = open_.size(); i-- > 0;) {
    if (open_[i].to == to) send(i);
  }
}

void message_bundles::flush() {
  while (!open_.empty()) send(open_.size() - 1);
}

void message_bundles::flush_old() {
  const std::int64_t now = pe_.now_ns();
  for (std::size_t i = open_.size(); i-- > 0;) {
    if (now - open_[i].opened_at > most_delay_ns) send(i);
  }
}

void message_bundles::send(std::size_t i) {
  const bundle b = open_[i];
  open_[i] = open_.back();
  open_.pop_back();
  wire_header& h = b.message->header;
  h.size = b.used;
  h.handler = bundle_handler.number;
  h.to = b.to;
  h.from = from_;
  h.level = b.level;
  transport_->send(b.to / pes_per_rank_, b.message);
}

}  // namespace imbrex
