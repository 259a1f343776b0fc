// Slices of a tensor by their indices: to[o, i, r] = from[o, indices[i], r].
//
// An item copies one element; MOVED is an integer type of its size. An index that is out of range is taken for the nearest that is not: a kernel cannot fail.

KERNEL void gather(
    GLOBAL const MOVED* from, GLOBAL const INDEX_TYPE* indices, GLOBAL MOVED* to,
    const integer from_begin, const integer indices_begin,
    const int index_count, const int extent, const int inner) {
    const int r = ITEM(0);
    const int i = ITEM(1);
    const int o = ITEM(2);
    if (r >= inner || i >= index_count) {
        return;
    }
    integer index = (integer)indices[indices_begin + i];
    index += index < 0 ? extent : 0;
    index = index < 0 ? 0 : index >= extent ? extent - 1 : index;
    to[((integer)o * index_count + i) * inner + r] = from[from_begin + ((integer)o * extent + index) * inner + r];
}
