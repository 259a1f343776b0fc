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
