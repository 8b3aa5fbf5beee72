#pragma once

namespace imbrex {
class stream;
}

/// On a GPU, in the order of the stream: kernels written by hand (by_hand.cu).
void cuda_axpy(imbrex::stream& s, int n, double f, const double* x, double* y);
void cuda_transpose(imbrex::stream& s, int n, const double* from, double* to);
void cuda_spmv(imbrex::stream& s, int n, const int* first, const int* column, const double* value, const double* x,
               double* y);
void cuda_stencil(imbrex::stream& s, int nx, int ny, int nz, int pitch, int planes, const double* in, double* out);
void cuda_forces(imbrex::stream& s, int n, double cutoff2, const double* place, const int* list, const int* neighbours,
                 double* force);
