#include "imbrex/object/collection/head_count.h"

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex {

namespace {

struct counted_answer {
  collection_id array;
  std::uint32_t first = 0;
  void operator()(scheduler& pe) { chare_pe::of(pe).find_collection(array)->heads().counted(first); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & first;
  }
};

/// To the array's root.
struct count_request {
  collection_id array;
  pe_id from = no_pe;
  std::uint64_t num_born = 0;
  std::vector<std::uint32_t> died;

  void operator()(scheduler& pe) {
    collection* const part = chare_pe::of(pe).find_collection(array);
    if (part == nullptr) {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
      return;
    }
    part->announce_change();
    const std::uint32_t first = part->reductions().elements_born(num_born);
    for (const std::uint32_t first_missing : died) part->reductions().element_died(first_missing);
    pe.send(from, counted_answer{array, first}, priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & from & num_born & died;
  }
};

}  // namespace

void head_count::expect(element_base& e) {
  e.counted = false;
  array_.block(e);
}

void head_count::born(element_base& e, const reply_to& who) {
  born_.push_back({&e, who});
  tell();
}

void head_count::died(std::uint32_t first_missing) {
  died_.push_back(first_missing);
  tell();
}

void head_count::tell() {
  if (telling_ || (born_.empty() && died_.empty())) return;
  telling_ = true;
  told_ = born_.size();
  scheduler& pe = array_.pe();
  pe.send(array_.root(), count_request{array_.id(), pe.id(), told_, std::exchange(died_, {})},
          priorities::communication);
}

void head_count::counted(std::uint32_t first) {
  scheduler& pe = array_.pe();
  std::vector<newborn> later(born_.begin() + static_cast<std::ptrdiff_t>(told_), born_.end());
  born_.resize(told_);
  for (const newborn& n : std::exchange(born_, std::move(later))) {
    n.e->next_reduction = first;
    n.e->counted = true;
    if (n.e->extras) {
      for (const auto& c : std::exchange(n.e->extras->early_contributions, {}))
        c->contribute(array_, n.e->next_reduction++);
    }
    if (n.who.wanted()) send_reply<void>(pe, n.who, std::monostate{});
    array_.unblock(*n.e);
  }
  telling_ = false;
  tell();
}

}  // namespace imbrex
