#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/ids.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/pe/reply.h"

namespace imbrex {

class collection;
class scheduler;
struct element_base;

/// Which reduction: of an array, or of a section of it, and the how-manieth.
struct reduction_id {
  collection_id array;
  section_id section;
  std::uint32_t number = 0;
};

/// A reduced value with its type known to the derived class: what was contributed so far.
struct partial_base {
  partial_base(const void* type_, std::string (*describe_)()) : type(type_), describe(describe_) {}
  virtual ~partial_base() = default;
  /// Sends what is there to PE `to` and forgets it. `outside`: this PE, when it belongs to no tree and `to` is the
  /// root.
  virtual void pass_up(scheduler& pe, const reduction_id& r, pe_id to, pe_id outside) = 0;
  /// Everybody has contributed: hands the value to its target.
  virtual void deliver(scheduler& pe, const reduction_id& r) = 0;

  static void* operator new(std::size_t size) { return slab::allocate(size); }
  static void operator delete(void* p) { slab::free(p); }

  const void* const type;
  std::string (*const describe)();  ///< what is contributed, for reports
  std::uint64_t count = 0;          ///< contributions in it
};

/// A result that nobody has asked for yet.
struct result_base {
  virtual ~result_base() = default;
  virtual const char* type_name() const = 0;
  virtual void answer(scheduler& pe, const reply_to& to) = 0;
};

/// One PE's part of the reductions of an array or section. Reductions are numbered by each element's count of
/// contributions; several can be under way. The root finishes a reduction when as many contributions have come as there
/// are elements that take part in it, so elements may come, go and move meanwhile.
///
/// Partial values go up a tree: for an array the PE tree rooted at its creator, for a section one of its own. While
/// elements stay where they are the numbers are *fixed*: a PE passes one value up for all that is below it. While the
/// array *changes* it passes up what it has as soon as its own elements have contributed. An array that has come to
/// rest counts itself (`census`) and is fixed again from a later reduction on.
class reducer {
 public:
  reducer(scheduler& pe, collection& array, section_id section, pe_id root);
  ~reducer();
  reducer(const reducer&) = delete;
  reducer& operator=(const reducer&) = delete;

  /// Array, before the first contribution: how many elements the subtree of this PE, and on the root the whole, has.
  void expect(std::uint64_t below, std::uint64_t in_all);
  /// Section: this PE has its place in the tree, and so many members are at home below it; at the root, in all.
  void join_tree(pe_id parent, std::uint64_t below);
  /// Section, before the announcement: an element contributes here whose home is here (so it will come) or is not.
  void wait_for_announcement(bool will_come) { waits_for_announcement_ |= will_come && !in_tree_; }

  struct slot {
    std::unique_ptr<partial_base> value;  // null until somebody contributes
    std::uint64_t passed = 0;             // local elements that are past this reduction
  };
  /// Reduction `number`, under way. The caller adds to its value and calls `added`.
  slot& at(std::uint32_t number) {
    if (last_ != nullptr && number == last_number_) [[likely]]
      return *last_;
    return look_up(number);
  }
  /// `count` more contributions are in `s.value`, `local` of them of elements that live here.
  void added(slot& s, std::uint32_t number, std::uint64_t count, std::uint64_t local) {
    if (s.value->count == 0) ++num_begun_;
    s.value->count += count;
    s.passed += local;
    if (s.value->count == awaited_ || number < fixed_from_ || !in_tree_) advance(number);
  }
  /// Root of a section: a contribution came from `pe`, which is not of the tree.
  void note_outside(pe_id pe);
  const std::vector<pe_id>& outside() const { return outside_; }

  /// An element that takes part from reduction `e.next_reduction` on came to live here, or left.
  void element_came(const element_base& e) {
    if (!slots_.empty()) [[unlikely]]
      note_arrival(e);
  }
  void element_left(const element_base& e);
  /// From now on numbers of elements per PE change: partial values are passed up without waiting for those below.
  void set_changing();
  /// From reduction `from` on they are fixed, `below` in the subtree of this PE.
  void set_fixed(std::uint32_t from, std::uint64_t below);
  bool is_changing() const { return fixed_from_ == never; }
  /// The first reduction that nobody here has anything to do with yet.
  std::uint32_t first_untouched() const;
  /// Root: how many elements take part in reductions to come.
  std::uint64_t num_expected() const { return expected(never); }
  /// Root: how many reductions were completed since an element came or went.
  std::uint32_t num_since_change() const { return num_since_change_; }

  /// Root: `n` elements exist; the first reduction they take part in is returned.
  std::uint32_t elements_born(std::uint64_t n);
  /// Root: an element ended before contributing to reduction `first_missing`.
  void element_died(std::uint32_t first_missing);

  /// Root: results without a target wait here, in order, until they are asked for.
  void keep(std::uint32_t number, std::unique_ptr<result_base> result);
  /// Who asks for another type than the result's ends the job.
  void ask(const reply_to& who, std::string wanted_type);
  /// Root: somebody asks for a result that is not there.
  bool is_awaited() const { return !asked_.empty(); }

  /// Elements of this PE that wait for the result of an allreduce.
  struct all_waiter : waiter {
    section_id section;
    std::uint32_t number = 0;
    reducer* of = nullptr;  ///< while it waits on a PE
    all_waiter* next_waiter = nullptr;
    /// It goes on waiting at its new PE; what comes to the old one follows, for the result may have passed the new one.
    static const wait_mobility follows;
    static const wait_mobility follows_from_checkpoint_point, follows_from_move_point;

   private:
    static bool may_leave(const waiter&) { return true; }
    static void leave(waiter& w, departure& d);
    static void arrive(waiter& w);
  };
  void wait_for_all(all_waiter* w) {
    w->next_waiter = waiting_;
    waiting_ = w;
  }
  void forget(all_waiter* w);
  /// Those that wait for reduction `number`, taken out, linked by `next_waiter`.
  all_waiter* take_waiting(std::uint32_t number);
  /// Calls `f` with the way to each that waited here for reduction `number` and has moved, once.
  template <class F>
  void for_each_gone(std::uint32_t number, F f) {
    if (gone_.empty()) [[likely]]
      return;
    for (const std::shared_ptr<const work_route>& to : take_gone(number)) f(*to);
  }

  bool idle() const { return slots_.empty(); }
  /// What a checkpoint would lose of it; empty: nothing.
  std::string what_is_under_way() const;
  std::string describe() const;
  /// "reduction 3 of block".
  std::string text_of(std::uint32_t number) const;
  pe_id root() const { return root_; }

 private:
  /// The value of a reduction goes on from here.
  std::unique_ptr<partial_base> take(slot& s);
  static constexpr std::uint64_t not_yet_known = ~std::uint64_t{0};
  static constexpr std::uint32_t never = ~std::uint32_t{0};
  bool is_changing(std::uint32_t number) const { return number < fixed_from_; }
  std::vector<std::shared_ptr<const work_route>> take_gone(std::uint32_t number);
  bool may_pass_up(const slot& s, std::uint32_t number) const;
  void pass_up(slot& s, std::uint32_t number);
  void note_arrival(const element_base& e);
  slot& look_up(std::uint32_t number);
  slot& make_slot(std::uint32_t number);
  std::uint64_t num_past(std::uint32_t number) const;
  std::uint64_t expected(std::uint32_t number) const;
  void change_expected(std::uint32_t from, std::int64_t difference);
  void apply_changes();
  void advance(std::uint32_t number);
  void advance_all();
  void trim();
  void note_complete(std::uint32_t number);
  void hand_out();
  std::size_t num_local() const;
  std::string of_how_many(std::uint32_t number) const;
  std::string missing_here(std::uint32_t number) const;

  scheduler& pe_;
  collection& array_;
  const section_id section_;
  const pe_id root_;
  std::uint64_t& num_begun_;  // the PE's
  bool in_tree_;
  bool waits_for_announcement_ = false;
  pe_id parent_ = no_pe;  // of a section's tree
  std::vector<pe_id> outside_;
  std::uint32_t fixed_from_ = 0;  // reductions before this one are of the time when the array changed; never: it does
  std::uint64_t expected_below_ = not_yet_known;
  std::uint64_t awaited_ = not_yet_known;  // with how many contributions this PE goes on when the numbers are fixed
  std::uint64_t expected_ = not_yet_known;
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes_;  // from this reduction on, so many more or fewer
  std::uint32_t first_ = 0;                                      // number of slots_[0]
  std::uint32_t completed_ = 0;                                  // root: all below this number are complete
  std::uint32_t untouched_ = 0;  // nobody here had to do with reductions from this one on
  std::uint32_t num_since_change_ = 0;
  std::vector<std::uint32_t> ahead_;  // root: complete, though an earlier one is not
  std::deque<slot> slots_;
  slot* last_ = nullptr;  // of those, the one that was last asked for
  std::uint32_t last_number_ = 0;
  all_waiter* waiting_ = nullptr;
  std::vector<std::pair<std::uint32_t, std::shared_ptr<const work_route>>> gone_;  // waited here; by reduction
  std::deque<std::pair<std::uint32_t, std::unique_ptr<result_base>>> results_;
  struct question {
    reply_to who;
    std::string wanted_type;
  };
  std::deque<question> asked_;
};

}  // namespace imbrex
