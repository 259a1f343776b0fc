// What a kernel of this folder needs of CUDA C. opencl.h says the same for OpenCL C.

#define KERNEL extern "C" __global__
#define GLOBAL
#define SHARED __shared__
#define SHARED_PARAMETER(type, name) type* name
#define BARRIER() __syncthreads()
#define OF_DIMENSION(dimension, of) ((int)((dimension) == 0 ? of.x : (dimension) == 1 ? of.y : of.z))
#define GROUP(dimension) OF_DIMENSION(dimension, blockIdx)
#define GROUPS(dimension) OF_DIMENSION(dimension, gridDim)
#define LANE(dimension) OF_DIMENSION(dimension, threadIdx)
#define LANES(dimension) OF_DIMENSION(dimension, blockDim)
#define ITEM(dimension) (GROUP(dimension) * LANES(dimension) + LANE(dimension))
#define ITEMS(dimension) (GROUPS(dimension) * LANES(dimension))
#define INLINE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)

// Kernels compute in these.
typedef float real;
typedef long long integer;

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
// As OpenCL has it; on ARM it has no sign by itself.
#define char signed char

// WIDTH numbers at a time, one unless a kernel is compiled with another constant.
#ifndef WIDTH
#define WIDTH 1
#endif
#if WIDTH == 1
typedef float vector;
#define SPLAT(x) (x)
#define LOAD(from) (*(from))
#define STORE(value, to) (*(to) = (value))
#define MULTIPLY_ADD(x, y, z) fmaf(x, y, z)
#else
// Registers, and no more: kernels of this width multiply and add alone. In memory such numbers lie anywhere.
struct vector {
    float elements[WIDTH];
};

INLINE vector SPLAT(const float x) {
    vector splat;
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        splat.elements[i] = x;
    }
    return splat;
}

INLINE vector LOAD(const float* from) {
    vector loaded;
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        loaded.elements[i] = from[i];
    }
    return loaded;
}

INLINE void STORE(const vector value, float* to) {
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        to[i] = value.elements[i];
    }
}

INLINE vector MULTIPLY_ADD(const vector x, const vector y, const vector z) {
    vector sum;
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        sum.elements[i] = fmaf(x.elements[i], y.elements[i], z.elements[i]);
    }
    return sum;
}
#endif
