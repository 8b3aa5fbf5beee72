// Writes checkpoints of three ranks for checkpoint_info_test.py: checkpoint_files FOLDER NUMBER. Exit code 77, with the
// reason: this build cannot.
#include <fmt/format.h>
#include <imbrex/base/error.h>
#include <imbrex/checkpoint/partial_checkpoint.h>
#include <imbrex/checkpoint/snapshot_writer.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

void write_one(const std::string& folder) {
  imbrex::partial_checkpoint p(folder);
  std::vector<imbrex::rank_file_facts> files;
  const std::vector<std::byte> payload(10'000, std::byte{7});
  for (int rank = 0; rank < 3; ++rank) {
    imbrex::snapshot_writer w(p.folder(), rank);
    for (int i = 0; i < 4; ++i) w.add(0, std::as_bytes(std::span(&i, 1)), payload);
    w.add(1, std::as_bytes(std::span(&rank, 1)), std::span(payload).first(0));
    files.push_back(w.finish());
  }
  p.commit({0xabc, {3, 4, 1}, 100 * p.number(), "a label", {"element", "group"}}, files, 3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    for (int i = 0; i < std::atoi(argv[2]); ++i) write_one(argv[1]);
  } catch (const imbrex::not_built& e) {
    fmt::print("SKIPPED: {}\n", e.what());
    return 77;
  }
}
