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

// Towards zero, to the nearest that there is; 0 of what is not a number.
INLINE integer TO_INTEGER(const real x) {
    return x != x ? 0 : __float2ll_rz(x);
}

// As OpenCL has it; on ARM `char` has no sign.
typedef signed char schar;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;

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
#define GREATER(x, y) fmaxf(x, y)
#define EXP(x) expf(x)
#else
// Registers, and no more than kernels of this width compute. In memory such numbers lie anywhere.
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

INLINE vector GREATER(const vector x, const vector y) {
    vector greater;
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        greater.elements[i] = fmaxf(x.elements[i], y.elements[i]);
    }
    return greater;
}

INLINE vector EXP(const vector x) {
    vector power;
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        power.elements[i] = expf(x.elements[i]);
    }
    return power;
}
#endif

#define JOIN_NAMES(one, other) one##other
#define JOIN(one, other) JOIN_NAMES(one, other)

// Reals in memory: float, half, or bfloat, which is the upper half of a float. Integers of 8 bits
// are loaded as reals, too.
struct half {
    ushort bits;
};
struct bfloat {
    ushort bits;
};

INLINE real from_half(const ushort bits) {
    real value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

INLINE ushort to_half(const real value) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

INLINE real from_bfloat(const ushort bits) {
    return __uint_as_float((uint)bits << 16);
}

// To the nearest, ties to even, unless it is not a number.
INLINE ushort to_bfloat(const real value) {
    const uint bits = __float_as_uint(value);
    return value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

INLINE real READ_float(const float* from, const integer at) {
    return from[at];
}

INLINE real READ_half(const half* from, const integer at) {
    return from_half(from[at].bits);
}

INLINE real READ_bfloat(const bfloat* from, const integer at) {
    return from_bfloat(from[at].bits);
}

INLINE real READ_schar(const schar* from, const integer at) {
    return from[at];
}

INLINE real READ_uchar(const uchar* from, const integer at) {
    return from[at];
}

INLINE void WRITE_float(const real value, float* to, const integer at) {
    to[at] = value;
}

INLINE void WRITE_half(const real value, half* to, const integer at) {
    to[at].bits = to_half(value);
}

INLINE void WRITE_bfloat(const real value, bfloat* to, const integer at) {
    to[at].bits = to_bfloat(value);
}

// As it is after it was stored and loaded.
INLINE real ROUND_float(const real value) {
    return value;
}

INLINE real ROUND_half(const real value) {
    return from_half(to_half(value));
}

INLINE real ROUND_bfloat(const real value) {
    return from_bfloat(to_bfloat(value));
}

// The same of the type STORED, which the text before a kernel defines.
#define READ(from, at) JOIN(READ_, STORED)(from, at)
#define WRITE(value, to, at) JOIN(WRITE_, STORED)(value, to, at)

#if WIDTH == 1
#define LOAD_OF(type, from) JOIN(READ_, type)(from, 0)
#else
template <typename Stored>
INLINE vector load_stored(const Stored* from, real (*read)(const Stored*, integer)) {
    vector loaded;
    UNROLL
    for (int i = 0; i < WIDTH; i++) {
        loaded.elements[i] = read(from, i);
    }
    return loaded;
}
#define LOAD_OF(type, from) load_stored(from, JOIN(READ_, type))
#endif
#define LOAD_STORED(from) LOAD_OF(STORED, from)
