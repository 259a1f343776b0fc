// Sums, means, greatest values, softmax and normalisation of rows.
//
// Row r has `length` elements, the first at (r / inner) length inner + r % inner, each `inner` after the one before.
// A group of ROW_LANES items takes a row. Elements are of STORED; IS_NARROW says that it is narrower than float.

INLINE float joined(const float one, const float other, const int is_max) {
    // What is not a number stays so: fmax would take the other one.
    return !is_max ? one + other : one > other || one != one ? one : other;
}

// The sum or the greatest of the values of all lanes, the same in each.
INLINE float over_lanes(float value, const int is_max, SHARED_PARAMETER(float, values)) {
    const int lane = LANE(0);
    if (ROW_LANES == 1) {
        return value;
    }
    BARRIER();
    values[lane] = value;
    for (int others = ROW_LANES / 2; others > 0; others /= 2) {
        BARRIER();
        if (lane < others) {
            values[lane] = joined(values[lane], values[lane + others], is_max);
        }
    }
    BARRIER();
    return values[0];
}

INLINE integer row_begin(const int row, const int length, const int inner) {
    return (integer)(row / inner) * length * inner + row % inner;
}

KERNEL void reduce(
    GLOBAL const STORED* from, const integer from_begin, GLOBAL STORED* to,
    const int length, const int inner, const float factor) {
    SHARED float values[ROW_LANES];
    const int row = GROUP(0);
    GLOBAL const STORED* elements = from + from_begin + row_begin(row, length, inner);
    float value = IS_MAX ? -INFINITY : 0.0f;
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        value = joined(value, READ(elements, (integer)j * inner), IS_MAX);
    }
    value = over_lanes(value, IS_MAX, values);
    if (LANE(0) == 0) {
        WRITE(value * factor, to, row);
    }
}

KERNEL void softmax(
    GLOBAL const STORED* from, const integer from_begin, GLOBAL STORED* to, const int length, const int inner) {
    SHARED float values[ROW_LANES];
    const integer begin = row_begin(GROUP(0), length, inner);
    float greatest = -INFINITY;
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        greatest = fmax(greatest, READ(from, from_begin + begin + (integer)j * inner));
    }
    greatest = over_lanes(greatest, 1, values);
    float sum = 0.0f;
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        const float power = exp(READ(from, from_begin + begin + (integer)j * inner) - greatest);
        if (!IS_NARROW) {
            WRITE(power, to, begin + (integer)j * inner);
        }
        sum += power;
    }
    sum = over_lanes(sum, 0, values);
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        // Rounded once: what is narrower than float is computed again, not loaded.
        const float power = IS_NARROW ? exp(READ(from, from_begin + begin + (integer)j * inner) - greatest)
                                      : READ(to, begin + (integer)j * inner);
        WRITE(power / sum, to, begin + (integer)j * inner);
    }
}

// Rows lie together here: inner is 1.
KERNEL void layer_normalization(
    GLOBAL const STORED* from, const integer from_begin, GLOBAL const STORED* scale, const integer scale_begin,
    GLOBAL const STORED* bias, const integer bias_begin, GLOBAL STORED* to,
    const int length, const float epsilon) {
    SHARED float values[ROW_LANES];
    GLOBAL const STORED* elements = from + from_begin + (integer)GROUP(0) * length;
    GLOBAL STORED* results = to + (integer)GROUP(0) * length;
    float sum = 0.0f;
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        sum += READ(elements, j);
    }
    const float mean = over_lanes(sum, 0, values) / (float)length;
    // In a second pass: the difference of two large sums would be off.
    float squares = 0.0f;
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        const float difference = READ(elements, j) - mean;
        squares += difference * difference;
    }
    const float deviation = sqrt(over_lanes(squares, 0, values) / (float)length + epsilon);
    for (int j = LANE(0); j < length; j += ROW_LANES) {
        const float normal = (READ(elements, j) - mean) / deviation;
        WRITE(normal * READ(scale, scale_begin + j) + (HAS_BIAS ? READ(bias, bias_begin + j) : 0.0f), results, j);
    }
}

// One item for each row: the rows of answers are few and short.
KERNEL void arg_max(
    GLOBAL const STORED* from, const integer from_begin, GLOBAL integer* to,
    const int rows, const int length, const int inner) {
    const int row = ITEM(0);
    if (row >= rows) {
        return;
    }
    GLOBAL const STORED* elements = from + from_begin + row_begin(row, length, inner);
    int greatest = 0;
    for (int j = 1; j < length; j++) {
        const float element = READ(elements, (integer)j * inner);
        const float before = READ(elements, (integer)greatest * inner);
        if (IS_LAST ? element >= before : element > before) {
            greatest = j;
        }
    }
    to[row] = greatest;
}
