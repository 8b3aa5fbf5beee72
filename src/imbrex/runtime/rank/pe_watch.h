#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

/// Looks each second whether a PE is where it was, and warns where it has been so for 10 s, and again for 100, 1000 s:
/// an entry method, task or function of a stream that does not come back, because it waits for a lock or a message of
/// MPI, or never ends, keeps all others of its PE from running, and no other report tells of it. By a thread of its own
/// that sleeps otherwise; for PEs that have a thread each. Names of entry methods are static, and elements may be gone
/// meanwhile: their indices are not told.
class pe_watch {
 public:
  pe_watch(const std::vector<scheduler*>& pes, rank_id rank, int num_ranks);
  ~pe_watch();
  pe_watch(const pe_watch&) = delete;
  pe_watch& operator=(const pe_watch&) = delete;

 private:
  struct seen {
    const scheduler* pe = nullptr;
    std::uint64_t turn = 0;
    int seconds = 0;  ///< for which it has been the same
    int warn_at = 0;
  };
  void run();
  void look(seen& s) const;

  std::vector<seen> pes_;
  const rank_id rank_;
  const int num_ranks_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace imbrex::detail
