// C = f(A B) for stacks of matrices: A of M x K, B of K x N, C of M x N.
//
// An item computes ROWS rows of COLUMNS = VECTORS * WIDTH columns. A and B are read by panels, so that both may lie
// plain or packed: element (m, k) of A at (m / ROWS) a_panel + (m % ROWS) a_row + k a_column, element (k, n) of B at
// (n / COLUMNS) b_panel + k b_row + n % COLUMNS. Packed panels are complete, filled up with anything. Plain ones may be
// cut off by M and N: B is read by up to COLUMNS - 1 elements beyond its end, which have to be there.
//
// A and B are of A_STORED and B_STORED. RESULT(x, m, n, z) is the element of the product x; its operands come as
// RESULT_PARAMETERS, and WRITE_RESULT stores it as RESULT_TYPE.
//
// If IS_INTEGER, factors are of 8 bits and count less their zero points, a_zero and b_zero among RESULT_PARAMETERS. Their
// products are at most 255 * 255, so that a float holds the sum of 256 of them exactly: such sums are added up as
// integers.

#define COLUMNS (VECTORS * WIDTH)

#if IS_INTEGER
#define SUM int
#define WITH_RUN(sum, run) ((sum) + (int)(run))
#define RUN_END(k) (k_end - (k) < 256 ? k_end : (k) + 256)
#define READ_A(from, at) (JOIN(READ_, A_STORED)(from, at) - (float)a_zero)
#define LOAD_B(from) MULTIPLY_ADD(SPLAT(1.0f), LOAD_OF(B_STORED, from), SPLAT(-(float)b_zero))
#else
#define SUM float
#define WITH_RUN(sum, run) (run)
#define RUN_END(k) k_end
#define READ_A(from, at) JOIN(READ_, A_STORED)(from, at)
#define LOAD_B(from) LOAD_OF(B_STORED, from)
#endif

// 64-bit places: a stack of matrices may be larger than 2^31 elements.
KERNEL void gemm(
    GLOBAL const A_STORED* a, GLOBAL const B_STORED* b, GLOBAL RESULT_TYPE* c,
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
    GLOBAL const A_STORED* a_from = a + a_begin + outer * a_outer + inner * a_matrix + (integer)m_panel * a_panel;
    GLOBAL const B_STORED* b_from = b + b_begin + outer * b_outer + inner * b_matrix + (integer)n_panel * b_panel;

    // A panel that is cut off reads its last row again.
    int a_places[ROWS];
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        a_places[i] = A_IS_PACKED ? i : (m_begin + i < m_end ? i : m_end - 1 - m_begin) * a_row;
    }

    SUM sums[ROWS * COLUMNS];
    UNROLL
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        sums[i] = 0;
    }
    int k = 0;
    do {
        vector run[ROWS][VECTORS];
        UNROLL
        for (int i = 0; i < ROWS; i++) {
            UNROLL
            for (int j = 0; j < VECTORS; j++) {
                run[i][j] = SPLAT(0.0f);
            }
        }
        for (const int run_end = RUN_END(k); k < run_end; k++) {
            vector row[VECTORS];
            UNROLL
            for (int j = 0; j < VECTORS; j++) {
                row[j] = LOAD_B(b_from + j * WIDTH);
            }
            UNROLL
            for (int i = 0; i < ROWS; i++) {
                const vector x = SPLAT(READ_A(a_from, a_places[i]));
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    run[i][j] = MULTIPLY_ADD(x, row[j], run[i][j]);
                }
            }
            a_from += A_IS_PACKED ? ROWS : a_column;
            b_from += b_row;
        }
        UNROLL
        for (int i = 0; i < ROWS; i++) {
            UNROLL
            for (int j = 0; j < VECTORS; j++) {
                float lanes[WIDTH];
                STORE(run[i][j], lanes);
                UNROLL
                for (int lane = 0; lane < WIDTH; lane++) {
                    const int at = i * COLUMNS + j * WIDTH + lane;
                    sums[at] = WITH_RUN(sums[at], lanes[lane]);
                }
            }
        }
    } while (k < k_end);

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
