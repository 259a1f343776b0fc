// Slices of a tensor by their indices: to[o, i, r] = from[o, indices[i], r].
//
// An item copies one element; MOVED is an integer type of its size. An index that is out of range is taken for the nearest that is not: a kernel cannot fail.

KERNEL void gather(
    GLOBAL const MOVED* from, GLOBAL const INDEX_TYPE* indices, GLOBAL MOVED* to,
    const integer from_begin, const integer indices_begin,
    const int outer, const int index_count, const int extent, const int inner) {
    // Along one dimension, since some devices have few groups along the others.
    const int r = ITEM(0) % inner;
    const int i = ITEM(0) / inner % index_count;
    const int o = ITEM(0) / inner / index_count;
    if (o >= outer) {
        return;
    }
    integer index = (integer)indices[indices_begin + i];
    index += index < 0 ? extent : 0;
    index = index < 0 ? 0 : index >= extent ? extent - 1 : index;
    to[ITEM(0)] = from[from_begin + ((integer)o * extent + index) * inner + r];
}
