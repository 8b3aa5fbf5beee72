#pragma once

#include <imbrex/imbrex.h>

#include <memory>
#include <string>
#include <vector>

#include "support/gpu_choice.h"

namespace apps {

/// The streams a chare on a GPU uses; which of them are the same one depends on the design.
struct gpu_streams {
  imbrex::stream* compute = nullptr;
  imbrex::stream* pack = nullptr;
  imbrex::stream* unpack = nullptr;
  imbrex::stream* to_host = nullptr;
  imbrex::stream* to_device = nullptr;

  /// For a chare of that name on a PE; `device` shares among the chares of the calling PE, which are to stay there
  /// (`pin`): the others' go along.
  static gpu_streams of(stream_design how, imbrex::device& gpu, const std::string& owner);

 private:
  std::shared_ptr<imbrex::stream_set> set_;
  std::vector<std::unique_ptr<imbrex::stream>> own_;
};

}  // namespace apps
