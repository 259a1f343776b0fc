// C = f(A B) for stacks of matrices: A of M x K, B of K x N, C of M x N.
//
// An item computes ROWS rows of COLUMNS = VECTORS * WIDTH columns. A and B are read by panels, so that both may lie
// plain or packed: element (m, k) of A at (m / ROWS) a_panel + (m % ROWS) a_row + k a_column, element (k, n) of B at
// (n / COLUMNS) b_panel + k b_row + n % COLUMNS. Packed panels are complete, filled up with anything. Plain ones may be
// cut off by M and N: B is read by up to COLUMNS - 1 elements beyond its end, which have to be there.
//
// A and B are of STORED. RESULT(x, m, n, z) is the element of the product x; its operands come as RESULT_PARAMETERS,
// and WRITE_RESULT stores it as RESULT_TYPE.

#define COLUMNS (VECTORS * WIDTH)

// 64-bit places: a stack of matrices may be larger than 2^31 elements.
KERNEL void gemm(
    GLOBAL const STORED* a, GLOBAL const STORED* b, GLOBAL RESULT_TYPE* c,
    const integer a_begin, const integer b_begin, const integer c_begin,
    const int m_end, const int n_end, const int k_end,
    const int a_panel, const int a_row, const int a_column, const integer a_matrix,
    const int b_panel, const int b_row, const integer b_matrix,
    const int c_row, const integer c_matrix,
    const int inner_count, const integer a_outer, const integer b_outer
    RESULT_PARAMETERS) {
    // Both along one dimension, since some devices have few groups along the others. A group is within a column panel.
    const int m_items = ((m_end + ROWS - 1) / ROWS + LANES(0) - 1) / LANES(0) * LANES(0);
    const int m_panel = ITEM(0) % m_items;
    const int n_panel = ITEM(0) / m_items;
    const int z = ITEM(2);
    const int m_begin = m_panel * ROWS;
    const int n_begin = n_panel * COLUMNS;
    if (m_begin >= m_end || n_begin >= n_end) {
        return;
    }
    // A stack in two levels, as broadcasting makes of any.
    const int outer = z / inner_count;
    const int inner = z % inner_count;
    GLOBAL const STORED* a_from = a + a_begin + outer * a_outer + inner * a_matrix + (integer)m_panel * a_panel;
    GLOBAL const STORED* b_from = b + b_begin + outer * b_outer + inner * b_matrix + (integer)n_panel * b_panel;

    // A panel that is cut off reads its last row again.
    int a_places[ROWS];
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        a_places[i] = A_IS_PACKED ? i : (m_begin + i < m_end ? i : m_end - 1 - m_begin) * a_row;
    }

    vector sum[ROWS][VECTORS];
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        UNROLL
        for (int j = 0; j < VECTORS; j++) {
            sum[i][j] = SPLAT(0.0f);
        }
    }
    for (int k = 0; k < k_end; k++) {
        vector row[VECTORS];
        UNROLL
        for (int j = 0; j < VECTORS; j++) {
            row[j] = LOAD_STORED(b_from + j * WIDTH);
        }
        UNROLL
        for (int i = 0; i < ROWS; i++) {
            const vector x = SPLAT(READ(a_from, a_places[i]));
            UNROLL
            for (int j = 0; j < VECTORS; j++) {
                sum[i][j] = MULTIPLY_ADD(x, row[j], sum[i][j]);
            }
        }
        a_from += A_IS_PACKED ? ROWS : a_column;
        b_from += b_row;
    }
    float sums[ROWS * COLUMNS];
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        UNROLL
        for (int j = 0; j < VECTORS; j++) {
            STORE(sum[i][j], sums + i * COLUMNS + j * WIDTH);
        }
    }

    GLOBAL RESULT_TYPE* to = c + c_begin + z * c_matrix + (integer)m_begin * c_row + n_begin;
    const int rows = m_end - m_begin < ROWS ? m_end - m_begin : ROWS;
    const int columns = n_end - n_begin < COLUMNS ? n_end - n_begin : COLUMNS;
    for (int i = 0; i < rows; i++) {
        if (columns == COLUMNS) {
            for (int j = 0; j < COLUMNS; j++) {
                WRITE_RESULT(RESULT(sums[i * COLUMNS + j], m_begin + i, n_begin + j, z), to, (integer)i * c_row + j);
            }
        } else {
            for (int j = 0; j < columns; j++) {
                WRITE_RESULT(RESULT(sums[i * COLUMNS + j], m_begin + i, n_begin + j, z), to, (integer)i * c_row + j);
            }
        }
    }
}
