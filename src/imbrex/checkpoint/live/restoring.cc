#include "imbrex/checkpoint/live/restoring.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/log.h"
#include "imbrex/checkpoint/checkpoint_folder.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/memory_records.h"
#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/live/program_state.h"
#include "imbrex/checkpoint/live/tree_call.h"
#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/collection_kind.h"
#include "imbrex/object/create.h"

namespace imbrex {

namespace {

/// The part that one PE has in it.
class restoring {
 public:
  restoring(chare_pe& pe, const checkpoint_place& from) : pe_(pe), source_(open_records(pe, from)) {
    same_pes_ = source_->facts().shape.num_ranks * source_->facts().shape.pes_per_rank == pe.num_pes();
  }

  std::vector<std::byte> program() {
    std::vector<std::byte> bytes;
    each(record_kind::program, [&](const record_view& r) { bytes = read(r); });
    return bytes;
  }

  /// When awaited all that is this PE's is there.
  task<> restore() {
    const rank_context& rank = pe_.rank();
    const bool one_process = rank.transport == nullptr || rank.transport->shares_process();
    if (pe_.id() == (one_process ? 0 : rank.first_pe()))
      each(record_kind::readonly_values, [&](const record_view& r) { checkpointer::of(pe_).globals().load(read(r)); });
    // Parts come first: elements, when they come to life, may name any.
    each(record_kind::array, [&](const record_view& r) { restore_array(r); });
    each(record_kind::numbers, [&](const record_view& r) { add_numbers(r); });
    pe_.number_after(numbers_.collections, numbers_.sections, numbers_.singles);
    std::vector<record_view> mine;
    each(record_kind::element, [&](const record_view& r) {
      if (place_element(r)) mine.push_back(r);
    });
    auto restored = restore_elements(std::move(mine));
    co_await restored;
    each(record_kind::ended, [&](const record_view& r) { note_end(r); });
    each(record_kind::freed_section, [&](const record_view& r) {
      const auto key = from_key<section_key>(r);
      part_of(key.array).free_section(key.section);
    });
    each(record_kind::section, [&](const record_view& r) { add_members(r); });
    for (auto& [id, count] : counts_) {
      collection& part = part_of(id);
      std::uint64_t all = 0;
      for (const std::uint64_t n : count.of_pe) all += n;
      part.has_come_back(detail::count_below(pe_, pe_.id(), part.root(), count.of_pe), all, count.not_at_home);
      pe_.release_held(id);
    }
    if (pe_.id() == 0 && pe_.balancing != nullptr)
      each(record_kind::balancing, [&](const record_view& r) { pe_.balancing->take_kept(source_->read(r)); });
    for (auto& [key, members] : sections_) part_of(key.first).restore_section(key.second, members);
  }

 private:
  struct by_number {
    bool operator()(const collection_id& x, const collection_id& y) const {
      return std::pair(x.creator, x.number) < std::pair(y.creator, y.number);
    }
    bool operator()(const std::pair<collection_id, section_id>& x,
                    const std::pair<collection_id, section_id>& y) const {
      if (!(x.first == y.first)) return (*this)(x.first, y.first);
      return std::pair(x.second.creator, x.second.number) < std::pair(y.second.creator, y.second.number);
    }
  };
  /// How many elements of an array live on which PE.
  struct element_counts {
    std::vector<std::uint64_t> of_pe;
    bool not_at_home = false;
  };

  template <class F>
  void each(record_kind kind, F f) {
    for (int file = 0; file < source_->num_files(); ++file) {
      for (const record_view& r : source_->records(file)) {
        if (r.kind == static_cast<std::uint32_t>(kind)) f(r);
      }
    }
  }
  template <class Key>
  static Key from_key(const record_view& r) {
    Key key;
    from_bytes(std::vector<std::byte>(r.key.begin(), r.key.end()), key);
    return key;
  }
  template <class T>
  T from_payload(const record_view& r) {
    T value;
    from_bytes(read(r), value);
    return value;
  }
  std::vector<std::byte> read(const record_view& r) {
    const std::span<const std::byte> payload = source_->read(r);
    return {payload.begin(), payload.end()};
  }
  collection& part_of(collection_id id) {
    collection* const part = pe_.find_collection(id);
    if (part == nullptr) throw checkpoint_error("the checkpoint has elements of an array that it does not have");
    return *part;
  }

  void restore_array(const record_view& r) {
    const auto id = from_key<collection_id>(r);
    std::unique_ptr<collection> part = collection_kind::make(pe_, id, from_payload<collection_recipe>(r));
    if (!same_pes_) part->fold_homes();
    pe_.add_collection(std::move(part));
    counts_[id].of_pe.resize(static_cast<std::size_t>(pe_.num_pes()));
  }

  void add_numbers(const record_view& r) {
    const auto n = from_payload<pe_numbers_record>(r);
    numbers_.collections = std::max(numbers_.collections, n.collections);
    numbers_.sections = std::max(numbers_.sections, n.sections);
    numbers_.singles = std::max(numbers_.singles, n.singles);
  }

  /// Notes where it lives; whether that is here.
  bool place_element(const record_view& r) {
    const auto key = from_key<element_key>(r);
    collection& part = part_of(key.array);
    const pe_id home = part.home_of(key.index);
    const pe_id where = same_pes_ ? key.where : home;
    if (!key.array.is_of_singles()) {
      element_counts& counts = counts_[key.array];
      ++counts.of_pe.at(static_cast<std::size_t>(where));
      counts.not_at_home |= where != home;
    }
    if (where != pe_.id() && home != pe_.id()) return false;
    element_base& e = part.record_of(key.index);
    e.epoch = key.epoch;
    e.where = where;
    // Until its state has come from another rank others may send to it, as constructors do that make channels.
    e.state = where == pe_.id() ? presence::awaited : presence::elsewhere;
    return where == pe_.id();
  }

  /// Brings the next ones when those before have come to life: their states take memory.
  task<> restore_elements(std::vector<record_view> mine) {
    constexpr std::uint64_t at_once = std::uint64_t{16} << 20;
    for (std::size_t next = 0; next < mine.size();) {
      std::vector<record_view> these;
      for (std::uint64_t bytes = 0; next < mine.size() && (these.empty() || bytes + mine[next].bytes <= at_once);
           ++next) {
        bytes += mine[next].bytes;
        these.push_back(mine[next]);
      }
      auto brought = source_->bring(these);
      co_await brought;
      for (const record_view& r : these) {
        const auto key = from_key<element_key>(r);
        collection& part = part_of(key.array);
        restore_element(r, part, part.record_of(key.index));
      }
    }
  }

  void restore_element(const record_view& r, collection& part, element_base& e) {
    const std::span<const std::byte> state = source_->read(r);
    try {
      part.restore(e, state);
    } catch (...) {
      detail::throw_unreadable(fmt::format("{} has a state of {} that", source_->place_of(r), part.text(e)));
    }
  }

  void note_end(const record_view& r) {
    const auto key = from_key<element_key>(r);
    collection& part = part_of(key.array);
    if (part.home_of(key.index) != pe_.id()) return;
    element_base& e = part.record_of(key.index);
    e.epoch = key.epoch;
    e.state = presence::deleted;
  }

  void add_members(const record_view& r) {
    const auto key = from_key<section_key>(r);
    if (pe_.standing_for(key.section.creator) != pe_.id() || part_of(key.array).was_freed(key.section)) return;
    auto& all = sections_[{key.array, key.section}];
    for (std::vector<std::byte>& m : from_payload<std::vector<std::vector<std::byte>>>(r)) all.push_back(std::move(m));
  }

  chare_pe& pe_;
  std::unique_ptr<record_source> source_;
  bool same_pes_ = false;
  pe_numbers_record numbers_;
  std::map<collection_id, element_counts, by_number> counts_;
  std::map<std::pair<collection_id, section_id>, std::vector<std::vector<std::byte>>, by_number> sections_;
};

/// What every PE does.
struct restore_request {
  using result = std::vector<std::byte>;  // the program's object, of PE 0
  static constexpr const char* name = "restoring a checkpoint";
  checkpoint_place from;

  task<result> on_pe(chare_pe& pe) {
    restoring mine(pe, from);
    auto restored = mine.restore();
    co_await restored;
    co_return pe.id() == 0 ? mine.program() : result{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from;
  }
};

}  // namespace

std::string checkpoint_to_restart_from(const checkpoint_options& o) {
  const bool automatic = o.restart == "auto";
  const std::string& where = automatic ? o.folder : o.restart;
  if (automatic && !std::filesystem::exists(where)) return "";
  if (std::filesystem::exists(manifest_path(where))) return where;
  const latest_checkpoint latest = find_latest(where);
  for (const snapshot_error& e : latest.skipped) log_warning(fmt::format("a newer checkpoint is broken: {}", e.what()));
  if (!latest.path.empty()) {
    log_info(fmt::format("restarting from {}", latest.path));
    return latest.path;
  }
  if (automatic && latest.skipped.empty()) return "";
  check_is_checkpoint(where);
  return where;
}

task<std::vector<std::byte>> restore_job(checkpoint_place from) {
  if (from.folder.empty()) {
    auto ready = ready_memory();
    co_await ready;
  }
  auto restored = on_all_pes(restore_request{std::move(from)});
  for (std::vector<std::byte>& bytes : co_await restored) {
    if (!bytes.empty()) co_return std::move(bytes);
  }
  co_return std::vector<std::byte>{};
}

}  // namespace imbrex
