#pragma once

#include <exception>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/async/completion.h"
#include "imbrex/async/task.h"
#include "imbrex/base/topology.h"
#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/snapshot_writer.h"

/// What PEs have taken, on its way to a file or into memory, by a thread of its own.
namespace imbrex {

using records_of_pes = std::vector<std::vector<snapshot_record>>;

/// Pinned memory for what is on devices; none is needed where there is nothing.
buffer<std::byte> staging_for(const records_of_pes& of_pes);

/// All that the PEs of a rank have taken; memory of records is freed as soon as they are written.
rank_file_facts write_records(snapshot_writer& to, records_of_pes& of_pes, std::span<std::byte> staging);

/// How many bytes they come to, about: without keys.
std::uint64_t expected_bytes(const records_of_pes& of_pes);

/// The file of a rank of which all bytes are in memory already.
void write_image(const std::string& folder, std::int32_t rank, std::span<const std::byte> image);

/// Runs `f` on a thread of its own; when awaited it has ended. Quiescence waits for it.
template <class F>
task<> behind(F f) {
  completion ended;
  std::exception_ptr failure;
  std::thread worker([&] {
    unpin_this_thread();
    try {
      f();
    } catch (...) {
      failure = std::current_exception();
    }
    ended.set();
  });
  struct joined {
    std::thread& t;
    ~joined() { t.join(); }
  } join{worker};
  co_await ended;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace imbrex
