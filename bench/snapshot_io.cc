// How fast checkpoints are written and read, against write(2) and read(2) of the same bytes in the same program.
//
//   build/default/bin/bench_snapshot_io [--folder=FOLDER] [--mib=N]     (default: the folder for temporary files, 512)
//
// The bytes are N MiB in records of 8 MiB (large chares) or 4 KiB (small ones); one rank. `plain`: chunks of 4 MiB
// from memory, fsync, close. `at_once` and `behind`: a snapshot_writer without and with a thread of its own, to the end
// of commit. Reading is from the system's cache, as is that of read(2): what the checksums and the index cost. `disk`
// variants read after posix_fadvise(DONTNEED), which means nothing on a file system in memory. Bytes per second are
// what google-benchmark prints; repetitions run in random order and the median is reported.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <imbrex/base/hash.h>
#include <imbrex/checkpoint/checkpoint_folder.h>
#include <imbrex/checkpoint/crc32.h>
#include <imbrex/checkpoint/erasure_code/reed_solomon.h>
#include <imbrex/checkpoint/erasure_code/xor_parity.h>
#include <imbrex/checkpoint/partial_checkpoint.h>
#include <imbrex/checkpoint/snapshot_reader.h>
#include <imbrex/checkpoint/snapshot_writer.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ix = imbrex;
namespace fs = std::filesystem;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

std::string folder;
std::size_t total_bytes = std::size_t{512} << 20;

const bytes& payload() {
  static const bytes all = [] {
    bytes b(total_bytes);
    ix::random_sequence numbers(1);
    for (std::size_t i = 0; i + 8 <= b.size(); i += 8) {
      const std::uint64_t word = numbers.next();
      std::memcpy(b.data() + i, &word, 8);
    }
    return b;
  }();
  return all;
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(total_bytes) * static_cast<std::int64_t>(state.iterations()));
}

std::string plain_path() { return folder + "/plain"; }
std::string base_path(std::size_t record_bytes) { return fmt::format("{}/records_{}", folder, record_bytes); }

void write_plainly() {
  const int file = open(plain_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (std::size_t at = 0; at < total_bytes; at += chunk_bytes) {
    if (write(file, payload().data() + at, std::min(chunk_bytes, total_bytes - at)) < 0) std::abort();
  }
  if (fsync(file) != 0) std::abort();
  close(file);
}

std::string write_snapshot(std::size_t record_bytes, bool behind) {
  ix::partial_checkpoint p(base_path(record_bytes));
  ix::snapshot_writer w(p.folder(), 0, {chunk_bytes, behind});
  for (std::size_t at = 0; at < total_bytes; at += record_bytes) {
    w.add(0, std::as_bytes(std::span(&at, 1)), std::span(payload()).subspan(at, record_bytes));
  }
  return p.commit({}, {w.finish()}, 1);
}

void forget(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

void writing_plain(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove(plain_path());
    state.ResumeTiming();
    write_plainly();
  }
  count_bytes(state);
}

void writing(benchmark::State& state, std::size_t record_bytes, bool behind) {
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove_all(base_path(record_bytes));  // else the time would have the removal of the one before
    state.ResumeTiming();
    write_snapshot(record_bytes, behind);
  }
  count_bytes(state);
}

void reading_plain(benchmark::State& state, bool from_disk) {
  write_plainly();
  bytes to(total_bytes);
  for (auto _ : state) {
    state.PauseTiming();
    if (from_disk) forget(plain_path());
    state.ResumeTiming();
    const int file = open(plain_path().c_str(), O_RDONLY);
    for (std::size_t at = 0; at < total_bytes;) {
      const ssize_t n = read(file, to.data() + at, std::min(chunk_bytes, total_bytes - at));
      if (n <= 0) std::abort();
      at += static_cast<std::size_t>(n);
    }
    close(file);
  }
  count_bytes(state);
  fs::remove(plain_path());
}

void reading(benchmark::State& state, std::size_t record_bytes, bool from_disk) {
  const std::string path = write_snapshot(record_bytes, false);
  bytes to(total_bytes);
  for (auto _ : state) {
    state.PauseTiming();
    if (from_disk) forget(ix::rank_file_path(path, 0));
    state.ResumeTiming();
    ix::snapshot_reader r(path);
    std::size_t at = 0;
    for (const ix::record_view& record : r.records(0)) {
      r.read(record, std::span(to).subspan(at, record.bytes));
      at += record.bytes;
    }
  }
  count_bytes(state);
  fs::remove_all(base_path(record_bytes));
}

void checksum(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ix::crc32(0, payload()));
  count_bytes(state);
}

constexpr std::size_t block_bytes = std::size_t{8} << 20;

std::vector<std::span<const std::byte>> blocks(int num_blocks) {
  std::vector<std::span<const std::byte>> views;
  for (int i = 0; i < num_blocks; ++i) {
    views.push_back(
        std::span(payload()).subspan((static_cast<std::size_t>(i) * block_bytes) % total_bytes, block_bytes));
  }
  return views;
}

void xor_of_4(benchmark::State& state) {
  const auto data = blocks(4);
  bytes parity(block_bytes);
  for (auto _ : state) ix::xor_parity(data, parity);
  state.SetBytesProcessed(static_cast<std::int64_t>(4 * block_bytes) * static_cast<std::int64_t>(state.iterations()));
}

void reed_solomon_of_4_and_2(benchmark::State& state) {
  const ix::reed_solomon code(4, 2);
  const auto data = blocks(4);
  std::vector<bytes> parity(2, bytes(block_bytes));
  const std::vector<std::span<std::byte>> views(parity.begin(), parity.end());
  for (auto _ : state) code.encode(data, views);
  state.SetBytesProcessed(static_cast<std::int64_t>(4 * block_bytes) * static_cast<std::int64_t>(state.iterations()));
}

void add(const std::string& name, auto function, auto... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { function(state, arguments...); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void add_all() {
  add("write/plain", writing_plain);
  for (const auto& [name, record_bytes] : {std::pair{"8MiB", std::size_t{8} << 20}, {"4KiB", std::size_t{4} << 10}}) {
    add(fmt::format("write/at_once/{}", name), writing, record_bytes, false);
    add(fmt::format("write/behind/{}", name), writing, record_bytes, true);
  }
  for (const bool from_disk : {false, true}) {
    const char* from = from_disk ? "disk" : "cache";
    add(fmt::format("read/plain/{}", from), reading_plain, from_disk);
    add(fmt::format("read/8MiB/{}", from), reading, std::size_t{8} << 20, from_disk);
    add(fmt::format("read/4KiB/{}", from), reading, std::size_t{4} << 10, from_disk);
  }
  add("crc32", checksum);
  add("parity/xor/4+1", xor_of_4);
  if (ix::reed_solomon::is_built()) add("parity/reed_solomon/4+2", reed_solomon_of_4_and_2);
}

// Takes the program's own words out of the command line.
void read_words(int& argc, char** argv) {
  std::string wanted = fs::temp_directory_path().string();
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--folder=")) {
      wanted = word.substr(9);
    } else if (word.starts_with("--mib=")) {
      total_bytes = std::strtoull(argv[i] + 6, nullptr, 10) << 20;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  folder = wanted + "/imbrex-bench-XXXXXX";
  if (total_bytes < 8 * chunk_bytes || mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "give --folder=FOLDER that can be written, and --mib=32 or more\n");
    std::exit(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  read_words(argc, argv);
  add_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  fs::remove_all(folder);
}
