#include "imbrex/object/seeds/seed_pool.h"

#include <algorithm>
#include <utility>

#include "imbrex/object/seeds/seed_request.h"

namespace imbrex {

namespace {
void discard_chain(seed_work* s) {
  while (s != nullptr) {
    seed_work* const following = s->following();
    s->act(s, work_action::discard);
    s = following;
  }
}
}  // namespace

seed_pool::seed_pool(chare_pe& pe)
    : pe_(pe),
      shares_(pe.rank().pes_per_rank > 1),
      random_(mix(static_cast<std::uint64_t>(pe.id()))),
      lifelines_(lifelines_of(pe)),
      news_(pe) {
  turn_.of = this;
  turn_.set_priority(priorities::normal);
  turn_.act = [](work* w, work_action action) {
    auto* const t = static_cast<turn*>(w);
    t->is_queued = false;
    if (action == work_action::run) t->of->run_one();
  };
}

seed_pool::~seed_pool() { seed_pool::discard(); }

// ------------------------------------------------------------------------------------------------ those of this PE

void seed_pool::plant(seed_work& s) {
  pe_.count_created();
  if (pe_.track != nullptr) [[unlikely]]
    s.flow = pe_.trace_send(0, pe_.id());
  keep(s);
}

void seed_pool::keep(seed_work& s) {
  knows_of_singletons_ = true;
  seeds_.push(&s);
  if (seeds_.size() > 1) share();  // who makes the first one most likely comes to it soon
  queue_turn();
}

void seed_pool::queue_turn() {
  if (turn_.is_queued) return;
  turn_.is_queued = true;
  pe_.post_here(&turn_);
}

void seed_pool::run_one() {
  if (seeds_.empty()) keep_all(seeds_.take_offer());
  if (seeds_.empty()) return;  // they have been taken
  seed_work* const s = seeds_.pop_newest();
  if (!seeds_.empty()) share();
  if (!seeds_.empty() || seeds_.is_offering()) queue_turn();
  s->act(s, work_action::run);
}

void seed_pool::keep_all(seed_work* first) {
  for (seed_work* s = first; s != nullptr;) {
    seed_work* const following = s->following();
    seeds_.push(s);
    s = following;
  }
}

void seed_pool::discard() {
  news_.discard();
  discard_chain(seeds_.take_offer());
  while (!seeds_.empty()) {
    seed_work* const s = seeds_.pop_newest();
    s->act(s, work_action::discard);
  }
}

/// Puts some of them, of which there is one at least, where others may take them, unless some are there.
void seed_pool::share() {
  if (!waiting_.empty()) [[unlikely]] {
    const pe_id who = waiting_.front();
    waiting_.erase(waiting_.begin());
    serve(who);
    if (seeds_.empty()) return;
  }
  if (!shares_ || seeds_.is_offering()) return;
  seeds_.offer();
  if (pe_.rank().asleep != nullptr) pe_.rank().asleep->call(1);
}

// ------------------------------------------------------------------------------------------------ those of others

bool seed_pool::sees_offers() const {
  if (!shares_) return false;
  return std::ranges::any_of(pe_.rank().pes,
                             [this](scheduler* other) { return other != &pe_ && of(*other).seeds_.is_offering(); });
}

bool seed_pool::steal() {
  if (shares_) {
    const std::vector<scheduler*>& all = pe_.rank().pes;
    std::size_t next = random_.below(all.size());
    for (std::size_t left = std::min(all.size(), most_looks); left > 0; --left) {
      scheduler& other = *all[next];
      next = next + 1 < all.size() ? next + 1 : 0;
      if (&other == &pe_ || !of(other).seeds_.is_offering()) continue;
      pe_.withdraw_counts();
      seed_work* const first = of(other).seeds_.take_offer();
      if (first == nullptr) continue;
      knows_of_singletons_ = true;
      keep_all(first);
      queue_turn();
      return true;
    }
  }
  if (!lifelines_.empty() && knows_of_singletons_) ask_other_ranks();
  return false;
}

// ------------------------------------------------------------------------------------------------ other processes

/// The PE in the same place of ranks whose numbers differ by a bit, and of the next one: a graph that connects all.
std::vector<seed_pool::lifeline> seed_pool::lifelines_of(const chare_pe& pe) {
  const rank_context& rank = pe.rank();
  const int n = rank.num_ranks;
  std::vector<rank_id> ranks;
  for (int bit = 1; bit < n; bit *= 2) {
    if ((rank.rank ^ bit) < n) ranks.push_back(rank.rank ^ bit);
  }
  if (const rank_id next = (rank.rank + 1) % n; next != rank.rank && std::ranges::count(ranks, next) == 0)
    ranks.push_back(next);
  std::vector<lifeline> all;
  all.reserve(ranks.size());
  for (const rank_id r : ranks) all.push_back({r * rank.pes_per_rank + pe.id() - rank.first_pe(), false});
  return all;
}

void seed_pool::ask_other_ranks() {
  for (lifeline& l : lifelines_) {
    if (std::exchange(l.is_asked, true)) continue;
    pe_.send(l.pe, seed_request{pe_.id()}, priorities::communication);
  }
}

void seed_pool::asked_by(pe_id who) {
  waiting_.push_back(who);
  if (!seeds_.empty()) share();
}

void seed_pool::serve(pe_id who) {
  for (seed_work* s = seeds_.split_off(most_to_other_rank); s != nullptr;) {
    seed_work* const following = s->following();
    s->leave(pe_, who, s);
    s = following;
  }
}

void seed_pool::take_over(seed_work& s, pe_id from) {
  for (lifeline& l : lifelines_) {
    if (l.pe == from) l.is_asked = false;
  }
  keep(s);
}

}  // namespace imbrex
