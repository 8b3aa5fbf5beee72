#include "imbrex/checkpoint/live/record_source.h"

#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/memory_records.h"
#include "imbrex/checkpoint/snapshot_reader.h"
#include "imbrex/object/program_digest.h"

namespace imbrex {

namespace {

class file_records final : public record_source {
 public:
  explicit file_records(const std::string& folder)
      : reader_(folder, {.depth = check_depth::sizes, .program = program_digest()}) {}

  const snapshot_facts& facts() const override { return reader_.about().facts; }
  int num_files() const override { return reader_.num_files(); }
  std::span<const record_view> records(int file) override { return reader_.records(file); }
  task<> bring(std::vector<record_view>) override { co_return; }
  std::string place_of(const record_view& r) const override { return reader_.name_of(r); }
  /// In memory that the next one is read to: fresh memory costs as much as the reading.
  std::span<const std::byte> read(const record_view& r) override {
    if (r.bytes > room_) {
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(r.bytes);
      room_ = r.bytes;
    }
    const std::span<std::byte> to(bytes_.get(), r.bytes);
    reader_.read(r, to);
    return to;
  }

 private:
  snapshot_reader reader_;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t room_ = 0;
};

}  // namespace

std::unique_ptr<record_source> open_records(chare_pe& pe, const checkpoint_place& from) {
  if (!from.folder.empty()) return std::make_unique<file_records>(from.folder);
  return std::make_unique<memory_records>(pe, *checkpointer::of(pe).memory());
}

}  // namespace imbrex
