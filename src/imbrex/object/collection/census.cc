#include "imbrex/object/collection/census.h"

#include <algorithm>
#include <vector>

#include "imbrex/object/collection/collection.h"

namespace imbrex {

namespace {

struct census_request {
  pe_id root = no_pe;
  collection_id array;
  std::uint32_t wave = 0;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    chare_pe::of(pe).find_collection(array)->counting().begin(wave);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & wave;
  }
};

struct census_answer {
  collection_id array;
  std::uint32_t wave = 0;
  std::uint64_t count = 0;
  std::uint32_t first = 0;
  void operator()(scheduler& pe) { chare_pe::of(pe).find_collection(array)->counting().add(wave, count, first); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & wave & count & first;
  }
};

struct census_result {
  pe_id root = no_pe;
  collection_id array;
  std::uint32_t wave = 0;
  std::uint32_t from = 0;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    chare_pe::of(pe).find_collection(array)->counting().conclude(wave, from);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & wave & from;
  }
};

}  // namespace

void census::reduction_completed() {
  if (!array_.changing() || answers_left_ > 0 || array_.reductions().num_since_change() < rest_) return;
  rest_ = std::min(2 * rest_, longest_rest);  // unless it succeeds
  scheduler& pe = array_.pe();
  pe.spread(census_request{pe.id(), array_.id(), wave_ + 1}, priorities::communication);
}

void census::begin(std::uint32_t wave) {
  wave_ = wave;
  count_ = array_.here().size() - array_.heads().num_uncounted();
  first_ = array_.reductions().first_untouched();
  moves_answered_ = moves_;
  scheduler& pe = array_.pe();
  std::vector<pe_id> children;
  pe.tree().children_of(pe.id(), array_.root(), children);
  answers_left_ = children.size();
  if (answers_left_ == 0) answer();
}

void census::add(std::uint32_t wave, std::uint64_t count, std::uint32_t first) {
  if (wave != wave_ || answers_left_ == 0) return;
  count_ += count;
  first_ = std::max(first_, first);
  if (--answers_left_ == 0) answer();
}

void census::answer() {
  scheduler& pe = array_.pe();
  if (pe.id() != array_.root()) {
    pe.send(pe.tree_parent(array_.root()), census_answer{array_.id(), wave_, count_, first_},
            priorities::communication);
  } else if (count_ == array_.reductions().num_expected() && array_.changing()) {
    rest_ = shortest_rest;
    pe.spread(census_result{pe.id(), array_.id(), wave_, first_ + ahead}, priorities::communication);
  }
}

void census::conclude(std::uint32_t wave, std::uint32_t from) {
  if (any_cancelled_ && cancelled_ >= wave) return;
  in_force_ = wave;
  if (wave == wave_ && moves_ == moves_answered_ && array_.reductions().first_untouched() <= from) {
    array_.reductions().set_fixed(from, count_);
  } else {
    array_.announce_change(wave);
  }
}

void census::cancel(std::uint32_t wave) {
  cancelled_ = any_cancelled_ ? std::max(cancelled_, wave) : wave;
  any_cancelled_ = true;
}

}  // namespace imbrex
