#include "imbrex/device/cuda/api/cuda_activity.h"

#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/log.h"

namespace imbrex {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{4} << 20;
constexpr auto our_kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
// The calls themselves are looked at only because CUPTI numbers what belongs to ours along with them.
constexpr CUpti_ActivityKind looked_at[] = {
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET};

/// CUPTI calls back without saying for whom.
std::atomic<cuda_activity*> listening{nullptr};

std::uint64_t time_now() { return static_cast<std::uint64_t>(now_ns()); }

}  // namespace

/// CUPTI's functions, found when the program runs.
struct cuda_activity::library {
  void* handle = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;

  static std::unique_ptr<library> load(std::string* why) {
    const std::string version = std::to_string(CUDA_VERSION / 1000);
    auto l = std::make_unique<library>();
    for (const std::string& name :
         {"libcupti.so." + version, std::string("libcupti.so"), "/usr/local/cuda/lib64/libcupti.so." + version,
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so." + version}) {
      if ((l->handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    }
    if (l->handle == nullptr) {
      *why = "libcupti.so." + version + " was not found (it comes with the CUDA toolkit; LD_LIBRARY_PATH may name it)";
      return nullptr;
    }
    const bool all =
        l->find("cuptiActivityRegisterCallbacks", l->register_callbacks) &&
        l->find("cuptiActivityRegisterTimestampCallback", l->register_timestamp) &&
        l->find("cuptiActivityEnable", l->enable) && l->find("cuptiActivityDisable", l->disable) &&
        l->find("cuptiActivityFlushAll", l->flush_all) && l->find("cuptiActivityGetNextRecord", l->next_record) &&
        l->find("cuptiActivityPushExternalCorrelationId", l->push) &&
        l->find("cuptiActivityPopExternalCorrelationId", l->pop) && l->find("cuptiGetResultString", l->result_string);
    if (all) return l;
    *why = "libcupti is too old";
    return nullptr;
  }
  template <class F>
  bool find(const char* name, F& f) const {
    f = reinterpret_cast<F>(dlsym(handle, name));
    return f != nullptr;
  }
  std::string text(CUptiResult r) const {
    const char* t = nullptr;
    return result_string(r, &t) == CUPTI_SUCCESS && t != nullptr ? t : fmt::format("error {}", static_cast<int>(r));
  }
};

std::shared_ptr<cuda_activity> cuda_activity::start(trace_recorder& recorder, std::string* why) {
  auto cupti = library::load(why);
  if (cupti == nullptr) return nullptr;
  std::shared_ptr<cuda_activity> self(new cuda_activity(recorder, std::move(cupti)));
  cuda_activity* nobody = nullptr;
  if (!listening.compare_exchange_strong(nobody, self.get())) {
    *why = "another rank of this process uses CUPTI";
    return nullptr;
  }
  const library& l = *self->cupti_;
  CUptiResult r = l.register_timestamp(&time_now);
  if (r == CUPTI_SUCCESS) {
    r = l.register_callbacks(&buffer_requested,
                             [](CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                std::size_t valid) { buffer_completed(context, stream, buffer, size, valid); });
  }
  for (const CUpti_ActivityKind kind : looked_at) {
    if (r == CUPTI_SUCCESS) r = l.enable(kind);
  }
  if (r == CUPTI_SUCCESS) return self;
  *why = "CUPTI says: " + l.text(r);
  return nullptr;
}

cuda_activity::cuda_activity(trace_recorder& recorder, std::unique_ptr<library> cupti)
    : recorder_(recorder), cupti_(std::move(cupti)) {}

cuda_activity::~cuda_activity() {
  cuda_activity* self = this;
  if (listening.load() != self) return;
  for (const CUpti_ActivityKind kind : looked_at) static_cast<void>(cupti_->disable(kind));
  static_cast<void>(cupti_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  listening.store(nullptr);
}

void cuda_activity::begin(trace_track& track, const char* name, trace_category what) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = operations_.size();
    operations_.push_back({&track, name, what});
  }
  static_cast<void>(cupti_->push(our_kind, number));
}

void cuda_activity::end() {
  std::uint64_t number = 0;
  static_cast<void>(cupti_->pop(our_kind, &number));
}

void cuda_activity::buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *max_records = 0;
}

void cuda_activity::buffer_completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (cuda_activity* self = listening.load(); self != nullptr && valid > 0) self->take(buffer, valid);
  std::free(buffer);
}

void cuda_activity::take(std::uint8_t* buffer, std::size_t valid) {
  const std::lock_guard lock(mutex_);
  const auto add = [this](const auto& r, trace_category what, const char* function) {
    seen_.push_back({static_cast<std::int64_t>(r.start), static_cast<std::int64_t>(r.end), r.correlationId, r.deviceId,
                     r.graphNodeId != 0, what, function});
  };
  CUpti_Activity* record = nullptr;
  while (cupti_->next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& r = *reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
        if (r.externalKind == our_kind) of_correlation_[r.correlationId] = r.externalId;
        break;
      }
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& r = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
        add(r, trace_category::kernel, readable(r.name));
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        add(*reinterpret_cast<const CUpti_ActivityMemcpy6*>(record), trace_category::copy, nullptr);
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        add(*reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record), trace_category::copy, nullptr);
        break;
      case CUPTI_ACTIVITY_KIND_MEMSET:
        add(*reinterpret_cast<const CUpti_ActivityMemset4*>(record), trace_category::kernel, nullptr);
        break;
      default: break;
    }
  }
}

/// "jacobi::gpu::step_kernel" of the mangled name, without arguments.
const char* cuda_activity::readable(const char* mangled) {
  if (mangled == nullptr) return recorder_.intern("kernel");
  int status = 0;
  char* const whole = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string text = whole != nullptr && status == 0 ? whole : mangled;
  std::free(whole);
  if (text.starts_with("void ")) text.erase(0, 5);
  const std::string nameless = "(anonymous namespace)::";
  for (auto at = text.find(nameless); at != std::string::npos; at = text.find(nameless))
    text.erase(at, nameless.size());
  if (const auto brackets = text.find_first_of("<("); brackets != std::string::npos) text.resize(brackets);
  return recorder_.intern(text);
}

void cuda_activity::finish() {
  static_cast<void>(cupti_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  const std::lock_guard lock(mutex_);
  std::map<trace_track*, std::vector<placed>> of_track;
  std::map<std::uint32_t, std::vector<placed>> of_graphs;
  for (const seen& s : seen_) {
    if (s.start == 0) {
      ++num_lost_;
      continue;
    }
    const auto found = of_correlation_.find(s.correlation);
    if (s.in_graph) {
      of_graphs[s.gpu].push_back({s.start, s.end, s.function != nullptr ? s.function : "copy", s.what});
    } else if (found != of_correlation_.end()) {
      const operation& o = operations_[found->second];
      of_track[o.track].push_back({s.start, s.end, o.name, o.what});
    }
  }
  seen_.clear();
  const auto by_start = [](const placed& a, const placed& b) { return a.start < b.start; };
  for (auto& [track, all] : of_track) {
    std::ranges::sort(all, by_start);
    for (const placed& p : all) track->slice(p.name, p.what, p.start, p.end);
  }
  for (auto& [gpu, all] : of_graphs) {
    std::ranges::sort(all, by_start);
    place_graphs(gpu, std::move(all));
  }
  if (num_lost_ > 0) log_warning(fmt::format("CUPTI did not see the times of {} operations of GPUs", num_lost_));
}

void cuda_activity::place_graphs(std::uint32_t gpu, std::vector<placed> of_gpu) {
  struct lane {
    trace_track* track;
    std::int64_t end;
  };
  std::vector<lane> lanes;
  for (const placed& p : of_gpu) {
    auto free = std::ranges::find_if(lanes, [&](const lane& l) { return l.end <= p.start; });
    if (free == lanes.end()) {
      const std::string name = lanes.empty() ? fmt::format("GPU {}: graphs", gpu)
                                             : fmt::format("GPU {}: graphs ({})", gpu, lanes.size() + 1);
      const int order = 10'000 + 1000 * static_cast<int>(gpu) + 2;
      lanes.push_back({&recorder_.add_track(name, order, track_kind::stream), 0});
      free = lanes.end() - 1;
    }
    free->track->slice(p.name, p.what, p.start, p.end);
    free->end = p.end;
  }
}

}  // namespace imbrex
