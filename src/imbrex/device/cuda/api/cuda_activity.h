#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/trace/trace.h"

namespace imbrex {

/// What the GPUs of this process did and when, as NVIDIA's CUPTI reports it: every kernel and copy with the GPU's own
/// times, those in graphs too, at little cost to the run. CUPTI is loaded when a traced job starts; a machine without
/// it is no error (then events tell the times, see cuda_trace.h). One object at a time in a process.
class cuda_activity {
 public:
  /// Null, and `why` set, where CUPTI is not there or does not want to.
  static std::shared_ptr<cuda_activity> start(trace_recorder& recorder, std::string* why);
  ~cuda_activity();
  cuda_activity(const cuda_activity&) = delete;
  cuda_activity& operator=(const cuda_activity&) = delete;

  /// Around the enqueueing of an operation, on the thread that does it: what CUPTI sees of it belongs to `track` under
  /// this name, of static lifetime.
  void begin(trace_track& track, const char* name, trace_category what);
  void end();

  /// Once, when nothing runs on the GPUs any more: writes all that was seen to the tracks. Kernels of graphs come to
  /// tracks of their own, as many for each GPU as ran at a time, under the names of their functions.
  void finish();

 private:
  struct library;
  struct operation {
    trace_track* track;
    const char* name;
    trace_category what;
  };
  struct seen {
    std::int64_t start, end;
    std::uint32_t correlation, gpu;
    bool in_graph;
    trace_category what;
    const char* function;  ///< interned; null but for kernels
  };
  struct placed {
    std::int64_t start, end;
    const char* name;
    trace_category what;
  };

  cuda_activity(trace_recorder& recorder, std::unique_ptr<library> cupti);

  static void buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
  static void buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                               std::size_t valid);
  void take(std::uint8_t* buffer, std::size_t valid);
  void place_graphs(std::uint32_t gpu, std::vector<placed> of_gpu);
  const char* readable(const char* mangled);

  trace_recorder& recorder_;
  std::unique_ptr<library> cupti_;
  std::mutex mutex_;
  std::deque<operation> operations_;                                 ///< by their number
  std::unordered_map<std::uint32_t, std::uint64_t> of_correlation_;  ///< CUPTI's number of a call to ours
  std::vector<seen> seen_;
  std::uint64_t num_lost_ = 0;
};

}  // namespace imbrex
