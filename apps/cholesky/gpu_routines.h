#pragma once

#include <span>
#include <string>

namespace imbrex {
class stream;
}

/// The same steps enqueued on a stream of a GPU, by cuBLAS and cuSOLVER, which are loaded when they are first used.
/// Each stream has handles of its own, made at its first use by the calling PE. Throw `device_error`.
namespace cholesky {

/// Loads them; what is missing, or empty when they are there. Any thread.
std::string why_no_gpu_libraries();

/// Elements of work space that `gpu_potrf` needs, on the current GPU.
int gpu_potrf_work_space(int b);

/// `info`: one element, which nobody reads: the check finds what is wrong.
void gpu_potrf(imbrex::stream& s, std::span<double> a, int b, std::span<double> work_space, std::span<int> info);
/// As a triangular solve of cuBLAS runs at a tenth of a product's speed, it is done once, for L's inverse; for all
/// tiles below that is a product. `unit`: the unit matrix; `work_space`: as large as `a`.
void gpu_invert(imbrex::stream& s, std::span<const double> l, std::span<const double> unit, std::span<double> inverse,
                int b);
void gpu_solve(imbrex::stream& s, std::span<const double> inverse, std::span<double> a, int b,
               std::span<double> work_space);
void gpu_syrk(imbrex::stream& s, std::span<const double> a, std::span<double> c, int b);
void gpu_gemm(imbrex::stream& s, std::span<const double> a, std::span<const double> at, std::span<double> c, int b);

/// Gives up the calling PE's handles: nothing that it enqueued may be under way.
void give_up_gpu_libraries();

}  // namespace cholesky
