#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <memory>

#include "runner.h"

namespace dgemm {

/// What a PE is to measure.
struct assignment {
  std::int32_t n = 0;
  variant by = variant::tasks;
  std::int32_t iterations = 1;  ///< of this PE
  std::int32_t lanes = 5;
  std::int32_t gpus = 1;
  std::int32_t pes = 1;  ///< that take part: the first ones

  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & by & iterations & lanes & gpus & pes;
  }
};

/// From when to when a PE worked, by `now_ns`, and what came out.
struct outcome {
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::int32_t wrong_rows = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & began & ended & wrong_rows;
  }
};

/// One on each PE: the products of that PE, with objects and tasks of its own. The referee calls in the order below.
class worker : public ix::chare<worker, ix::index1d> {
 public:
  ix::task<> prepare(assignment a);
  ix::task<outcome> work();
  ix::task<> close();

 private:
  std::unique_ptr<runner> make() const;

  assignment now_;
  std::unique_ptr<problem> problem_;
  std::unique_ptr<runner> runner_;
};

}  // namespace dgemm
