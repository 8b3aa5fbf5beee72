// Puts and gets into memory of other ranks.
#include <algorithm>
#include <cstring>
#include <utility>

#include "imbrex/base/serialize.h"
#include "transport_test.h"

namespace transport_test {

namespace {

/// What one rank tells another about its memory.
struct shared_memory {
  std::uint64_t address = 0;
  std::vector<std::byte> key;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & address & key;
  }
};

constexpr std::uint32_t is_key = 3;
constexpr std::uint32_t is_put = 4;

template <class Type>
wire_message* message_with(pe_id from, pe_id to, std::uint32_t handler, Type& content) {
  const std::vector<std::byte> bytes = to_bytes(content);
  wire_message* m = wire_message::make(bytes.size());
  m->header.from = from;
  m->header.to = to;
  m->header.handler = handler;
  std::memcpy(m->payload(), bytes.data(), bytes.size());
  return m;
}

/// What a rank has heard from the others, in all rounds: a faster one may be a step ahead.
struct heard_so_far {
  std::vector<shared_memory> there;
  std::size_t num_keys = 0;
  std::size_t num_puts = 0;
  std::size_t num_ends = 0;
};

/// Each rank has a piece of memory with a part for every rank, which that one writes and reads back.
void one_sided_with(transport& comm, executor& inbox, heard_so_far& heard, std::size_t round, std::uint64_t part) {
  const rank_id me = comm.rank();
  const auto all = static_cast<std::size_t>(comm.num_ranks() - 1) * round;
  std::vector<std::byte> mine(part * static_cast<std::size_t>(comm.num_ranks()));
  shared_memory here{reinterpret_cast<std::uintptr_t>(mine.data()),
                     comm.share_memory({.data = mine.data(), .bytes = mine.size()})};
  auto& [there, num_keys, num_puts, num_ends] = heard;
  const auto receive = [&] {
    if (!comm.poll()) sched_yield();
    inbox.collect();
    while (work* item = inbox.next()) {
      if (item->act != &discard_message) {
        item->act(item, work_action::run);
        continue;
      }
      auto* m = static_cast<wire_message*>(item);
      if (m->header.handler == is_key) {
        const auto* bytes = m->payload();
        from_bytes(std::vector<std::byte>(bytes, bytes + m->header.size),
                   there[static_cast<std::size_t>(m->header.from)]);
        ++num_keys;
      } else if (m->header.handler == is_put) {
        movement expected(inbox, part, static_cast<std::uint64_t>(m->header.from));
        std::memcpy(expected.memory.data(), mine.data() + part * static_cast<std::size_t>(m->header.from), part);
        check(expected.intact(), fmt::format("a put of {} bytes to have arrived when it is over", part));
        ++num_puts;
      } else {
        ++num_ends;
      }
      wire_message::destroy(m);
    }
  };
  const auto tell = [&](std::uint32_t what, shared_memory& content) {
    for (rank_id r = 0; r < comm.num_ranks(); ++r) {
      if (r != me) comm.send(r, message_with(me, r, what, content));
    }
  };
  tell(is_key, here);
  while (num_keys < all) receive();
  for (rank_id r = 0; r < comm.num_ranks(); ++r) {
    if (r == me) continue;
    const shared_memory& s = there[static_cast<std::size_t>(r)];
    movement out(inbox, part, static_cast<std::uint64_t>(me));
    out.fill();
    comm.put(r, s.key, s.address + part * static_cast<std::uint64_t>(me), out.view(), &out);
    while (!out.over) receive();
    shared_memory nothing;
    comm.send(r, message_with(me, r, is_put, nothing));
    movement back(inbox, part, static_cast<std::uint64_t>(me));
    comm.get(r, s.key, s.address + part * static_cast<std::uint64_t>(me), back.view(), &back);
    while (!back.over) receive();
    check(back.intact(), fmt::format("{} bytes to come back as they were put", part));
  }
  while (num_puts < all) receive();
  shared_memory nothing;
  tell(is_last, nothing);
  while (num_ends < all) receive();
  comm.forget_memory(mine.data());
}

}  // namespace

void one_sided() {
  const auto made = make_transport();
  transport& comm = *made;
  if (!comm.has_one_sided(memory_kind::host)) {
    fmt::print("skipped: {} has no one-sided movement of its own\n", comm.name());
    return;
  }
  on_all_pes(comm, 1, [&](executor& inbox, pe_id) {
    heard_so_far heard;
    heard.there.resize(static_cast<std::size_t>(comm.num_ranks()));
    std::size_t round = 0;
    for (const std::uint64_t part : {8, 8192, 1'000'000, 5'000'000}) one_sided_with(comm, inbox, heard, ++round, part);
  });
}

}  // namespace transport_test
