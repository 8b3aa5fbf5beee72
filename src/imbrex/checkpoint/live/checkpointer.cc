#include "imbrex/checkpoint/live/checkpointer.h"

#include <algorithm>
#include <span>

#include "imbrex/async/behind.h"
#include "imbrex/base/clock.h"
#include "imbrex/checkpoint/live/checkpoint_leader.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/checkpoint/live/memory_exchange.h"
#include "imbrex/checkpoint/live/record_writing.h"
#include "imbrex/checkpoint/memory/memory_sink.h"
#include "imbrex/object/state/element_state.h"
#include "imbrex/object/state/object_reading.h"

namespace imbrex {

checkpointer::checkpointer(chare_pe& pe, const checkpoint_options& options, checkpointed_globals globals,
                           rank_memory* memory)
    : pe_(pe), has_points_(options.at_points()), globals_(std::move(globals)), memory_(memory) {
  if (pe.id() == 0) leader_ = std::make_unique<checkpoint_leader>(pe, options, memory);
}

checkpointer::~checkpointer() = default;

checkpointer& checkpointer::of(scheduler& pe) { return static_cast<checkpointer&>(*chare_pe::of(pe).checkpointing); }

task<> checkpointer::take() {
  checkpoint_signals::clear();
  taken_.clear();
  taken_ = take_snapshot(pe_, *this);
  if (pe_.id() == 0) {
    taken_.push_back({record_kind::program, {}, {leader_->save_program(), {}}});
    taken_.push_back({record_kind::readonly_values, {}, {globals_.save(), {}}});
  }
  auto read = read_objects();
  co_await read;
  for (const device_stream& s : streams_) co_await s.copies->done();
}

/// All are asked for by now, and each is there when its turn comes.
task<> checkpointer::read_objects() {
  std::vector<stream*> copied;
  for (snapshot_record& r : taken_) {
    for (saved_state::piece& p : r.payload.later) {
      if (p.reading == nullptr) continue;
      co_await p.reading->come();
      const std::shared_ptr<detail::object_reading> reading = std::move(p.reading);
      if (stream* const s = reading->give(p); s != nullptr && std::ranges::find(copied, s) == copied.end())
        copied.push_back(s);
    }
  }
  for (stream* const s : copied) co_await s->done();
}

bool checkpointer::save_later(saved_state& to, device& of, const void* from, std::size_t bytes) {
  if (!of.any_thread_reads()) return false;
  device& on = detail::handle_here(of);
  auto known = std::ranges::find_if(streams_, [&](const device_stream& s) { return s.on == &on; });
  if (known == streams_.end()) {
    known = streams_.insert(streams_.end(), {&on, on.make_stream(stream_priority::high, "checkpoint")});
    known->copies->follows_nobody();  // though it was made in the turn of a chare
  }
  buffer<std::byte> copy;
  try {
    copy = buffer<std::byte>(on, bytes, memory_kind::device);
  } catch (const out_of_memory&) {
    return false;
  }
  known->copies->copy(copy.data(), from, bytes);
  to.later.push_back({.at = to.bytes.size(), .copy = std::move(copy)});
  return true;
}

task<rank_file_facts> checkpointer::write(std::string folder, std::uint64_t number) {
  rank_file_facts facts;
  const rank_id rank = pe_.rank().rank;
  if (number != 0) {
    const memory_part& part = *memory_->store.find(number);
    facts = part.about.files.at(static_cast<std::size_t>(part.about.layout.place_of(rank)));
    auto copied = behind([&] { write_image(folder, rank, part.image); });
    co_await copied;
    co_return facts;
  }
  records_of_pes of_pes;
  for (scheduler* pe : pe_.rank().pes) of_pes.push_back(std::move(of(*pe).taken_));
  const buffer<std::byte> staging = staging_for(of_pes);
  auto written = behind([&] {
    snapshot_writer file(folder, rank);
    facts = write_records(file, of_pes, std::span(staging.data(), staging.size()));
  });
  co_await written;
  co_return facts;
}

task<rank_file_facts> checkpointer::keep(std::uint64_t number, snapshot_facts facts) {
  records_of_pes of_pes;
  for (scheduler* pe : pe_.rank().pes) of_pes.push_back(std::move(of(*pe).taken_));
  const buffer<std::byte> staging = staging_for(of_pes);
  memory_part& part = memory_->store.begin(number);
  part.about.rank = pe_.rank().rank;
  part.about.facts = std::move(facts);
  part.made_at_ns = now_ns();
  rank_file_facts own;
  auto kept = behind([&] {
    memory_sink image(part.image, expected_bytes(of_pes));
    snapshot_writer to(image, pe_.rank().rank);
    own = write_records(to, of_pes, std::span(staging.data(), staging.size()));
  });
  co_await kept;
  co_return own;
}

task<> checkpointer::protect(std::uint64_t number, std::vector<rank_file_facts> files) {
  memory_part_facts& about = memory_->store.find(number)->about;
  about.layout = memory_->group_of(about.rank);
  std::uint64_t largest = 0;
  for (const std::int32_t m : about.layout.members) {
    about.files.push_back(files.at(static_cast<std::size_t>(m)));
    largest = std::max(largest, about.files.back().bytes);
  }
  about.layout.fit(largest);
  auto computed = compute_parity(pe_, number);
  co_await computed;
}

}  // namespace imbrex
