// Prelude of all kernels for OpenCL C.

#define KERNEL __kernel
#define GLOBAL __global
#define SHARED __local
#define SHARED_PARAMETER(type, name) __local type* name
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP(dimension) ((int)get_group_id(dimension))
#define GROUPS(dimension) ((int)get_num_groups(dimension))
#define LANE(dimension) ((int)get_local_id(dimension))
#define LANES(dimension) ((int)get_local_size(dimension))
#define ITEM(dimension) ((int)get_global_id(dimension))
#define ITEMS(dimension) ((int)get_global_size(dimension))
#define INLINE static inline
#define UNROLL _Pragma("unroll")

// Kernels compute in these.
typedef float real;
typedef long integer;
typedef char schar;

#define JOIN_NAMES(one, other) one##other
#define JOIN(one, other) JOIN_NAMES(one, other)

// WIDTH numbers at a time, one unless a kernel is compiled with another constant.
#ifndef WIDTH
#define WIDTH 1
#endif
#if WIDTH == 1
typedef float vector;
#define SPLAT(x) (x)
#define LOAD(from) (*(from))
#define STORE(value, to) (*(to) = (value))
#else
typedef JOIN(float, WIDTH) vector;
#define SPLAT(x) ((vector)(x))
#define LOAD(from) JOIN(vload, WIDTH)(0, from)
#define STORE(value, to) JOIN(vstore, WIDTH)(value, 0, to)
#endif
#define MULTIPLY_ADD(x, y, z) fma(x, y, z)
#define GREATER(x, y) fmax(x, y)
#define EXP(x) exp(x)

// Towards zero, to the nearest that there is; 0 of what is not a number.
INLINE integer TO_INTEGER(const real x) {
    return x != x ? 0 : x >= 0x1p63f ? LONG_MAX : x < -0x1p63f ? LONG_MIN : (integer)x;
}

// Reals in memory: float, half, or bfloat, which is the upper half of a float. Devices that cannot compute with half
// can load and store it. Integers of 8 bits are loaded as reals, too.
typedef ushort bfloat;

INLINE real READ_float(GLOBAL const float* from, const integer at) {
    return from[at];
}

INLINE real READ_half(GLOBAL const half* from, const integer at) {
    return vload_half(at, from);
}

INLINE real READ_bfloat(GLOBAL const bfloat* from, const integer at) {
    return as_float((uint)from[at] << 16);
}

INLINE real READ_schar(GLOBAL const schar* from, const integer at) {
    return from[at];
}

INLINE real READ_uchar(GLOBAL const uchar* from, const integer at) {
    return from[at];
}

INLINE void WRITE_float(const real value, GLOBAL float* to, const integer at) {
    to[at] = value;
}

INLINE void WRITE_half(const real value, GLOBAL half* to, const integer at) {
    vstore_half_rte(value, at, to);
}

// To the nearest, ties to even, unless it is not a number.
INLINE bfloat to_bfloat(const real value) {
    const uint bits = as_uint(value);
    return value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

INLINE void WRITE_bfloat(const real value, GLOBAL bfloat* to, const integer at) {
    to[at] = to_bfloat(value);
}

// As it is after it was stored and loaded.
INLINE real ROUND_float(const real value) {
    return value;
}

INLINE real ROUND_half(const real value) {
    ushort bits;
    vstore_half_rte(value, 0, (half*)&bits);
    return vload_half(0, (half*)&bits);
}

INLINE real ROUND_bfloat(const real value) {
    return as_float((uint)to_bfloat(value) << 16);
}

#if WIDTH == 1
#define LOAD_float(from) READ_float(from, 0)
#define LOAD_half(from) READ_half(from, 0)
#define LOAD_bfloat(from) READ_bfloat(from, 0)
#define LOAD_schar(from) READ_schar(from, 0)
#define LOAD_uchar(from) READ_uchar(from, 0)
#else
#define LOAD_float(from) LOAD(from)
#define LOAD_half(from) JOIN(vload_half, WIDTH)(0, from)
#define LOAD_bfloat(from) \
    JOIN(as_float, WIDTH)(JOIN(convert_uint, WIDTH)(JOIN(vload, WIDTH)(0, from)) << 16)
#define LOAD_schar(from) JOIN(convert_float, WIDTH)(JOIN(vload, WIDTH)(0, from))
#define LOAD_uchar(from) LOAD_schar(from)
#endif
#define LOAD_OF(type, from) JOIN(LOAD_, type)(from)

// The same of the type STORED, which the text before a kernel defines.
#define READ(from, at) JOIN(READ_, STORED)(from, at)
#define WRITE(value, to, at) JOIN(WRITE_, STORED)(value, to, at)
#define LOAD_STORED(from) LOAD_OF(STORED, from)
