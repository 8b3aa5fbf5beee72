#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/seeds/home_news.h"
#include "imbrex/object/seeds/seed_deque.h"

namespace imbrex {

/// The seeds that a PE has (docs/design/0015-seeds.md). They stay where they were made until their turn comes, newest
/// first, one after another among the messages of normal priority; or until another PE has nothing to do: of the same
/// process it takes some of the oldest, of another process it asks for them. For the PE's thread.
class seed_pool final : public shared_work {
 public:
  explicit seed_pool(chare_pe& pe);
  ~seed_pool() override;
  static seed_pool& of(scheduler& pe) { return static_cast<seed_pool&>(*pe.shared); }

  /// A seed that is made here.
  void plant(seed_work& s);
  /// A seed that comes from `from`, of another process, which this PE had asked.
  void take_over(seed_work& s, pe_id from);

  /// Singletons are made in this job, so there may be seeds in other processes: it asks when it has nothing to do.
  void note_singletons() { knows_of_singletons_ = true; }
  /// What other PEs are to know of their singletons that are here.
  home_news& news() { return news_; }

  /// Takes seeds that another PE of the process, a random one of those that have some, can spare. False: there are
  /// none; then other processes have been asked.
  bool steal() override;
  bool sees_offers() const override;
  void discard() override;

  /// PE `who`, of another process, has nothing to do: it gets seeds as soon as this PE can spare some.
  void asked_by(pe_id who);

 private:
  static constexpr std::size_t most_looks = 16;          // at other PEs, to find some
  static constexpr std::size_t most_to_other_rank = 16;  // seeds at a time

  struct turn : work {
    seed_pool* of = nullptr;
    bool is_queued = false;
  };
  struct lifeline {
    pe_id pe = no_pe;
    bool is_asked = false;
  };

  void run_one();
  void queue_turn();
  void keep(seed_work& s);
  void keep_all(seed_work* first);
  void share();
  void serve(pe_id who);
  void ask_other_ranks();
  static std::vector<lifeline> lifelines_of(const chare_pe& pe);

  chare_pe& pe_;
  turn turn_;
  const bool shares_;
  bool knows_of_singletons_ = false;
  random_sequence random_;
  std::vector<lifeline> lifelines_;  // those that this PE asks
  std::vector<pe_id> waiting_;       // those that have asked, oldest first
  home_news news_;
  seed_deque seeds_;
};

}  // namespace imbrex
