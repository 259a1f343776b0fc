// One element of a result from one element of each operand, wherever they lie: also a transposition, a slice, a part of
// a concatenation.
//
// `layout` has the extents of RANK dimensions, and then for the result and each operand where it begins and its stride
// along each dimension. element() is the computation; its operands come as OPERAND_PARAMETERS and OPERAND_ARGUMENTS, by
// their places.

KERNEL void elementwise(
    GLOBAL RESULT_TYPE* to, const int count, GLOBAL const int* layout
    OPERAND_PARAMETERS) {
    const int n = ITEM(0);
    if (n >= count) {
        return;
    }
    int places[OPERANDS + 1];
    UNROLL
    for (int tensor = 0; tensor <= OPERANDS; tensor++) {
        places[tensor] = layout[RANK + tensor * (RANK + 1)];
    }
    int rest = n;
    UNROLL
    for (int dimension = RANK - 1; dimension >= 0; dimension--) {
        const int at = dimension == 0 ? rest : rest % layout[dimension];
        rest /= layout[dimension];
        UNROLL
        for (int tensor = 0; tensor <= OPERANDS; tensor++) {
            places[tensor] += at * layout[RANK + tensor * (RANK + 1) + 1 + dimension];
        }
    }
    WRITE_RESULT(element(OPERAND_ARGUMENTS), to, places[0]);
}
