// C = softmax(scale Q K' + mask) V for stacks of matrices, without the scores in memory: Q of M x HEAD, K of N x HEAD,
// V of N x VALUE, and a mask that is broadcast to M x N if HAS_MASK.
//
// A group takes PANEL rows of Q and goes through K and V by KEYS rows at a time. What it knows of the rows of Q before,
// the greatest score, the sum of the powers by it, and their products with V, is scaled anew whenever a greater score
// comes (Milakov and Gimelshein, "Online normalizer calculation for softmax"). All this lies transposed: vectors go along
// rows of Q, so that nothing is added up within a vector, and K and V may lie in any way.
//
// An item computes tiles of ROWS rows of scores, or of sums, and COLUMNS = VECTORS * WIDTH columns. KEYS is a multiple of
// ROWS, and PANEL of COLUMNS. Element (m, n) of the mask at m + n mask_column if HAS_MASK_ROWS, else at n mask_column.
//
// All but the sums are of STORED.

#define COLUMNS (VECTORS * WIDTH)
#define TILES_ACROSS (PANEL / COLUMNS)
#define VECTORS_ACROSS (PANEL / WIDTH)
#define SUMS ((VALUE + ROWS - 1) / ROWS * ROWS)
// Below all scores but infinite ones, of which the powers are 0 then, and no difference is that of two infinite numbers.
#define LOWEST (-3.402823466e38f)

// An item that is alone needs no shared memory, of which there is little.
#if ITEMS_OF_GROUP == 1
#define OF_GROUP
#define TOGETHER()
#else
#define OF_GROUP SHARED
#define TOGETHER() BARRIER()
#endif

KERNEL void attention(
    GLOBAL const STORED* q, GLOBAL const STORED* k, GLOBAL const STORED* v, GLOBAL const STORED* mask,
    GLOBAL STORED* c,
    const integer q_begin, const integer k_begin, const integer v_begin, const integer mask_begin,
    const integer c_begin,
    const int m_end, const int n_end, const float scale,
    const int q_row, const int q_column, const int k_row, const int k_column, const int v_row, const int v_column,
    const int mask_column, const int c_row, const int c_column,
    const int inner_count,
    const integer q_outer, const integer q_inner, const integer k_outer, const integer k_inner,
    const integer v_outer, const integer v_inner, const integer mask_outer, const integer mask_inner,
    const integer c_outer, const integer c_inner) {
    OF_GROUP float turned[HEAD * PANEL];
    OF_GROUP float scores[KEYS * PANEL];
    OF_GROUP float sums[SUMS * PANEL];
    OF_GROUP float greatest[PANEL];
    OF_GROUP float factors[PANEL];
    OF_GROUP float totals[PANEL];

    const int lane = LANE(0);
    const int panels = (m_end + PANEL - 1) / PANEL;
    const int m_begin = GROUP(0) % panels * PANEL;
    // A stack in two levels, as broadcasting makes of any.
    const int outer = GROUP(0) / panels / inner_count;
    const int inner = GROUP(0) / panels % inner_count;
    GLOBAL const STORED* q_from = q + q_begin + outer * q_outer + inner * q_inner;
    GLOBAL const STORED* k_from = k + k_begin + outer * k_outer + inner * k_inner;
    GLOBAL const STORED* v_from = v + v_begin + outer * v_outer + inner * v_inner;
    GLOBAL const STORED* mask_from =
        mask + mask_begin + outer * mask_outer + inner * mask_inner + (HAS_MASK_ROWS ? m_begin : 0);

    for (int i = lane; i < HEAD * PANEL; i += ITEMS_OF_GROUP) {
        const int row = i / HEAD;
        const int column = i % HEAD;
        // A panel that is cut off reads its last row again.
        const int m = m_begin + row < m_end ? m_begin + row : m_end - 1;
        turned[column * PANEL + row] = scale * READ(q_from, (integer)m * q_row + (integer)column * q_column);
    }
    for (int i = lane; i < SUMS * PANEL; i += ITEMS_OF_GROUP) {
        sums[i] = 0.0f;
    }
    for (int i = lane; i < PANEL; i += ITEMS_OF_GROUP) {
        greatest[i] = LOWEST;
        totals[i] = 0.0f;
    }

    for (int n_begin = 0; n_begin < n_end; n_begin += KEYS) {
        const int keys = n_end - n_begin < KEYS ? n_end - n_begin : KEYS;
        TOGETHER();
        for (int tile = lane; tile < (keys + ROWS - 1) / ROWS * TILES_ACROSS; tile += ITEMS_OF_GROUP) {
            const int n = n_begin + tile / TILES_ACROSS * ROWS;
            const int at = tile % TILES_ACROSS * COLUMNS;
            int places[ROWS];
            vector sum[ROWS][VECTORS];
            UNROLL
            for (int i = 0; i < ROWS; i++) {
                const int row = n + i < n_end ? n + i : n_end - 1;
                places[i] = (row - n) * k_row;
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    // Reads beyond the last row of the mask, which has to be there.
                    sum[i][j] = !HAS_MASK ? SPLAT(0.0f)
                        : HAS_MASK_ROWS ? LOAD_STORED(mask_from + (integer)row * mask_column + at + j * WIDTH)
                                        : SPLAT(READ(mask_from, (integer)row * mask_column));
                }
            }
            GLOBAL const STORED* k_at = k_from + (integer)n * k_row;
            for (int d = 0; d < HEAD; d++) {
                vector column[VECTORS];
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    column[j] = LOAD(turned + d * PANEL + at + j * WIDTH);
                }
                UNROLL
                for (int i = 0; i < ROWS; i++) {
                    const vector x = SPLAT(READ(k_at, places[i]));
                    UNROLL
                    for (int j = 0; j < VECTORS; j++) {
                        sum[i][j] = MULTIPLY_ADD(x, column[j], sum[i][j]);
                    }
                }
                k_at += k_column;
            }
            UNROLL
            for (int i = 0; i < ROWS; i++) {
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    STORE(sum[i][j], scores + (n - n_begin + i) * PANEL + at + j * WIDTH);
                }
            }
        }

        TOGETHER();
        for (int i = lane; i < VECTORS_ACROSS; i += ITEMS_OF_GROUP) {
            const vector before = LOAD(greatest + i * WIDTH);
            vector now = before;
            for (int n = 0; n < keys; n++) {
                now = GREATER(now, LOAD(scores + n * PANEL + i * WIDTH));
            }
            STORE(now, greatest + i * WIDTH);
            STORE(EXP(MULTIPLY_ADD(SPLAT(-1.0f), now, before)), factors + i * WIDTH);
        }

        TOGETHER();
        for (int i = lane; i < keys * VECTORS_ACROSS; i += ITEMS_OF_GROUP) {
            const vector most = LOAD(greatest + i % VECTORS_ACROSS * WIDTH);
            STORE(EXP(MULTIPLY_ADD(SPLAT(-1.0f), most, LOAD(scores + i * WIDTH))), scores + i * WIDTH);
        }

        TOGETHER();
        for (int i = lane; i < VECTORS_ACROSS; i += ITEMS_OF_GROUP) {
            vector total = SPLAT(0.0f);
            for (int n = 0; n < keys; n++) {
                total = MULTIPLY_ADD(SPLAT(1.0f), LOAD(scores + n * PANEL + i * WIDTH), total);
            }
            STORE(MULTIPLY_ADD(LOAD(totals + i * WIDTH), LOAD(factors + i * WIDTH), total), totals + i * WIDTH);
        }
        for (int tile = lane; tile < SUMS / ROWS * TILES_ACROSS; tile += ITEMS_OF_GROUP) {
            const int d = tile / TILES_ACROSS * ROWS;
            const int at = tile % TILES_ACROSS * COLUMNS;
            int places[ROWS];
            vector sum[ROWS][VECTORS];
            UNROLL
            for (int i = 0; i < ROWS; i++) {
                places[i] = (d + i < VALUE ? d + i : VALUE - 1) * v_column;
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    sum[i][j] = SPLAT(0.0f);
                }
            }
            GLOBAL const STORED* v_at = v_from + (integer)n_begin * v_row;
            for (int n = 0; n < keys; n++) {
                vector shares[VECTORS];
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    shares[j] = LOAD(scores + n * PANEL + at + j * WIDTH);
                }
                UNROLL
                for (int i = 0; i < ROWS; i++) {
                    const vector x = SPLAT(READ(v_at, places[i]));
                    UNROLL
                    for (int j = 0; j < VECTORS; j++) {
                        sum[i][j] = MULTIPLY_ADD(x, shares[j], sum[i][j]);
                    }
                }
                v_at += v_row;
            }
            UNROLL
            for (int i = 0; i < ROWS; i++) {
                UNROLL
                for (int j = 0; j < VECTORS; j++) {
                    const int place = (d + i) * PANEL + at + j * WIDTH;
                    const vector factor = LOAD(factors + at + j * WIDTH);
                    STORE(MULTIPLY_ADD(LOAD(sums + place), factor, sum[i][j]), sums + place);
                }
            }
        }
    }

    TOGETHER();
    GLOBAL STORED* to = c + c_begin + outer * c_outer + inner * c_inner;
    for (int i = lane; i < VALUE * PANEL; i += ITEMS_OF_GROUP) {
        const int row = i / VALUE;
        const int column = i % VALUE;
        if (m_begin + row < m_end) {
            const float value = sums[column * PANEL + row] / totals[row];
            WRITE(value, to, (integer)(m_begin + row) * c_row + (integer)column * c_column);
        }
    }
}
