#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/ids.h"
#include "imbrex/comm/data/remote_data.h"
#include "imbrex/device/event.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/object/data/object_parcel.h"
#include "imbrex/pe/reply.h"
#include "imbrex/pe/scheduler.h"

/// Objects' data between PEs: one lends, another asks for them and writes them into an object of its own. Either may
/// be at a device. In a process the reader copies them, device to device where these reach each other; between
/// processes they go by `data_mover`, as those of GPU messages.
namespace imbrex {

class device;
class stream;

namespace detail {

struct open_task;

/// An exception as it travels between PEs.
struct object_failure {
  std::string kind;  ///< empty: none
  std::string what;

  static object_failure of(const std::exception_ptr& e);
  std::exception_ptr thrown() const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind & what;
  }
};

/// Which of a graph's data travel between this rank and another, as reports say it.
struct object_of_graph {
  std::uint32_t set = 0;
  std::uint32_t index = 0;
  rank_id other = 0;
};

/// Asks for lent data.
struct loan_request {
  std::uint64_t loan = 0;
  std::uint64_t arrival = 0;  ///< of the PE that asks
  pe_id pe = no_pe;

  void operator()(scheduler& at) const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & loan & arrival & pe;
  }
};

/// Where they are, once they are there.
struct loan_answer {
  std::uint64_t arrival = 0;
  const std::byte* at = nullptr;  ///< in this process
  device* on = nullptr;           ///< with `at`: in its memory, from `ready` on; null: of the host
  event ready;
  object_parcel packed;  ///< or here
  remote_data data;      ///< or on their way
  bool offered = false;  ///< or `data` are to be asked for, from a device
  object_failure why_not;

  bool from_device() const { return on != nullptr || offered; }
  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & arrival & packed & data & why_not;
    char asked_for = offered ? 1 : 0;
    ar & asked_for;
    offered = asked_for != 0;
  }
};

/// Asks for lent data, which are at a device, in host memory of this process; and says that they are there.
struct loan_copy {
  std::uint64_t loan = 0;
  std::uint64_t arrival = 0;
  pe_id pe = no_pe;
  std::byte* to = nullptr;

  void operator()(scheduler& at) const;
  template <class Archive>
  void serialize(Archive&) {
    throw comm_error("a copy inside a process left it");
  }
};
struct loan_copied {
  std::uint64_t arrival = 0;

  void operator()(scheduler& at) const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & arrival;
  }
};

/// A share of a loan comes home.
struct loan_return {
  std::uint64_t loan = 0;
  std::uint64_t weight = 0;

  void operator()(scheduler& at) const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & loan & weight;
  }
};

/// One PE's objects that others read, write or will. For the PE's thread.
class object_desk : public pe_part {
 public:
  explicit object_desk(scheduler& pe);
  /// With the job: nobody is told.
  ~object_desk() override;

  /// The desk of this PE, made now if it is the first time.
  static object_desk& of(scheduler& pe);

  /// Lends an object from this place in the order of its uses on, until all shares are back.
  std::shared_ptr<loan_share> lend(hetero_data& d);
  /// What is lent goes to another rank's graph: a failure of what should have made the data is not taken for told when
  /// a reader has heard of it, but told here.
  void lends_to_graph(std::uint64_t loan, const object_of_graph& what);
  void ask(const loan_request& r);
  void copy(const loan_copy& r);
  void give_back(std::uint64_t loan, std::uint64_t weight);

  /// Overwrites an object with what the parcel holds, from this place in the order of its uses on; then answers
  /// `reply`, if it is wanted. What reads the object waits.
  void fill(hetero_data& d, object_parcel from, const reply_to& reply = {});
  /// The same with data of which only a number is known yet: `grant` or `refuse` follows.
  std::uint64_t expect(hetero_data& d, const reply_to& reply);
  /// Another rank's graph sends it. Nothing is under way as long as neither follows: if all wait for such, it is a
  /// deadlock.
  void depends_on_graph(std::uint64_t arrival, const object_of_graph& what);
  void grant(std::uint64_t arrival, object_parcel from);
  void refuse(std::uint64_t arrival, const object_failure& why);
  void answered(loan_answer&& a);
  void copied(std::uint64_t arrival);

  /// \name Objects that others know by number. The number ends with the object's last other handle.
  ///@{
  std::uint64_t expose(hetero_data& d);
  /// Throws `usage_error` when it is gone.
  hetero_data& find(std::uint64_t exposure);
  /// 0: it is not exposed.
  std::uint64_t number_of(const hetero_data& d) const;
  ///@}

  void add_waits(const std::function<void(std::string)>& add) const override;

 private:
  struct loan;
  struct arrival;
  struct leaving_copy;

  void serve(loan& l, const loan_request& r);
  void serve_at_device(loan& l, const loan_request& r);
  void end_when_over(loan& l);

  void take_when_told(arrival& a);
  void take(arrival& a);
  void take_on_host(arrival& a);
  void take_on_device(arrival& a);
  void take_elsewhere(arrival& a);
  void ask_for_copy(arrival& a, std::byte* to);
  void fetch(arrival& a, std::byte* to, memory_kind kind, stream* in_order_of);
  void finish(arrival& a, const object_failure& why = {});

  void forget_dead_exposures();

  scheduler& pe_;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<loan>> loans_;
  std::unordered_map<std::uint64_t, std::unique_ptr<arrival>> arrivals_;
  std::unordered_map<std::uint64_t, hetero_data*> exposed_;
  std::unordered_map<const hetero_data*, std::uint64_t> numbers_;
};

}  // namespace detail
}  // namespace imbrex
