// Layers of LSTM and GRU: SAMPLES sequences in one direction, by a group of items, from step `begin` to before `end`.
//
// An item takes WIDTH hidden units of each panel of PANEL = WIDTH * lanes units. UNITS, a multiple of PANEL, is at
// least HIDDEN; units beyond HIDDEN hold anything, and are never read. The state h of all units is shared, in two
// copies: items read that of the step before while they write the other. A group takes PANELS panels: all of them, or
// some and then a single step, since it cannot read the states that other groups write.
//
// from_x has the products of X and W, element (step, sample, direction, gate, unit) at step step_stride +
// sample sample_stride + (direction GATES + gate) HIDDEN + unit. Weights are those of the recurrence, element k of a
// unit's row at [direction][panel][k][gate][unit of the panel], so that neighbours read neighbours. Biases are
// [direction][4][unit], those of W and R added up for each gate; with RESETS_AFTER the last is that of R for gate h
// alone. Sequences of lengths below `steps` end there, and a layer in reverse begins there.

#define GATES (IS_LSTM ? 4 : 3)
#define STATES (SAMPLES * UNITS)
#define RESETS_BEFORE (!IS_LSTM && !RESETS_AFTER)

INLINE vector clipped(const vector x, const float bound) {
    return HAS_CLIP ? fmin(fmax(x, -bound), bound) : x;
}

INLINE vector sigmoid(const vector x) {
    return 1.0f / (1.0f + exp(-x));
}

// Adds to the sums of `count` gates from `first` on, for each sample, the products with its state.
INLINE void add_products(
    vector* sums, const int first, const int count, GLOBAL const float* weights, SHARED_PARAMETER(const float, state)) {
    for (int k = 0; k < HIDDEN; k++) {
        UNROLL
        for (int gate = 0; gate < count; gate++) {
            const vector weight = LOAD(weights + (k * GATES + first + gate) * PANEL);
            UNROLL
            for (int s = 0; s < SAMPLES; s++) {
                vector* sum = sums + gate * SAMPLES + s;
                *sum = MULTIPLY_ADD(weight, SPLAT(state[s * UNITS + k]), *sum);
            }
        }
    }
}

// Writes a vector of units from `unit` on, without those beyond HIDDEN.
INLINE void write_units(GLOBAL float* to, const int unit, const vector values) {
    if (unit + WIDTH <= HIDDEN) {
        STORE(values, to + unit);
        return;
    }
    float single[WIDTH];
    STORE(values, single);
    for (int j = 0; j < WIDTH; j++) {
        if (unit + j < HIDDEN) {
            to[unit + j] = single[j];
        }
    }
}

KERNEL void recurrent(
    GLOBAL const float* from_x, GLOBAL const float* all_weights, GLOBAL const float* biases,
    GLOBAL const float* peepholes, GLOBAL const int* lengths, GLOBAL const float* first_h, GLOBAL const float* first_c,
    GLOBAL float* y, GLOBAL float* last_h, GLOBAL float* last_c,
    const integer lengths_begin, const integer first_h_begin, const integer first_c_begin,
    const int begin, const int end, const int steps, const int batch,
    const integer step_stride, const integer sample_stride, const float bound) {
    SHARED float h[2 * STATES];
    // The cells of an LSTM; h times the reset gate in a GRU.
    SHARED float c[STATES];
    const int direction = GROUP(1);
    const int directions = GROUPS(1);
    const int is_reverse = IS_REVERSE || direction == 1;
    GLOBAL const float* x = from_x + (integer)direction * GATES * HIDDEN;
    GLOBAL const float* bias = biases + direction * 4 * HIDDEN;
    GLOBAL const float* peephole = peepholes + direction * 3 * HIDDEN;
    const int first_panel = GROUP(2) * PANELS;
    const int end_panel = first_panel + PANELS < UNITS / PANEL ? first_panel + PANELS : UNITS / PANEL;
    // A group that is not full computes the last sample again.
    int samples[SAMPLES];
    int ends[SAMPLES];
    UNROLL
    for (int s = 0; s < SAMPLES; s++) {
        const int sample = GROUP(0) * SAMPLES + s;
        samples[s] = sample < batch ? sample : batch - 1;
        ends[s] = steps;
        if (HAS_LENGTHS) {
            const int length = lengths[lengths_begin + samples[s]];
            ends[s] = length < 0 ? 0 : length < steps ? length : steps;
        }
        const integer state = ((integer)direction * batch + samples[s]) * HIDDEN;
        for (int unit = LANE(0); unit < UNITS; unit += LANES(0)) {
            h[s * UNITS + unit] = HAS_FIRST_H && unit < HIDDEN ? first_h[first_h_begin + state + unit] : 0.0f;
        }
        for (int unit = first_panel * PANEL + LANE(0); unit < end_panel * PANEL; unit += LANES(0)) {
            c[s * UNITS + unit] = HAS_FIRST_C && unit < HIDDEN ? first_c[first_c_begin + state + unit] : 0.0f;
        }
    }
    BARRIER();

    for (int step = begin; step < end; step++) {
        const int now = ((step - begin) & 1) * STATES;
        const int next = STATES - now;
        int times[SAMPLES];
        UNROLL
        for (int s = 0; s < SAMPLES; s++) {
            times[s] = is_reverse && step < ends[s] ? ends[s] - 1 - step : step;
        }
        if (RESETS_BEFORE) {
            for (int panel = first_panel; panel < end_panel; panel++) {
                const int unit = panel * PANEL + LANE(0) * WIDTH;
                vector sums[2 * SAMPLES];
                UNROLL
                for (int i = 0; i < 2 * SAMPLES; i++) {
                    const int gate = i / SAMPLES;
                    const integer at = times[i % SAMPLES] * step_stride + samples[i % SAMPLES] * sample_stride;
                    sums[i] = LOAD(x + at + gate * HIDDEN + unit) + LOAD(bias + gate * HIDDEN + unit);
                }
                GLOBAL const float* weights = all_weights + LANE(0) * WIDTH
                    + ((integer)direction * UNITS + panel * PANEL) * HIDDEN * GATES;
                add_products(sums, 0, 2, weights, h + now);
                UNROLL
                for (int s = 0; s < SAMPLES; s++) {
                    const vector reset = sigmoid(clipped(sums[SAMPLES + s], bound));
                    STORE(reset * LOAD(h + now + s * UNITS + unit), c + s * UNITS + unit);
                    // The update gate waits where the next h will be.
                    STORE(sigmoid(clipped(sums[s], bound)), h + next + s * UNITS + unit);
                }
            }
            BARRIER();
        }
        for (int panel = first_panel; panel < end_panel; panel++) {
            const int unit = panel * PANEL + LANE(0) * WIDTH;
            vector sums[GATES * SAMPLES];
            UNROLL
            for (int i = 0; i < GATES * SAMPLES; i++) {
                const int gate = i / SAMPLES;
                const integer at = times[i % SAMPLES] * step_stride + samples[i % SAMPLES] * sample_stride;
                sums[i] = RESETS_AFTER && gate == 2
                    ? LOAD(bias + 3 * HIDDEN + unit)
                    : LOAD(x + at + gate * HIDDEN + unit) + LOAD(bias + gate * HIDDEN + unit);
            }
            GLOBAL const float* weights = all_weights + LANE(0) * WIDTH
                + ((integer)direction * UNITS + panel * PANEL) * HIDDEN * GATES;
            if (RESETS_BEFORE) {
                add_products(sums + 2 * SAMPLES, 2, 1, weights, c);
            } else {
                add_products(sums, 0, GATES, weights, h + now);
            }
            UNROLL
            for (int s = 0; s < SAMPLES; s++) {
                const int place = s * UNITS + unit;
                const vector before = LOAD(h + now + place);
                const int is_over = HAS_LENGTHS && step >= ends[s];
                vector result;
                if (is_over) {
                    result = SPLAT(0.0f);
                } else if (IS_LSTM) {
                    const vector cell = LOAD(c + place);
                    vector to_input = sums[s];
                    vector to_output = sums[SAMPLES + s];
                    vector to_forget = sums[2 * SAMPLES + s];
                    if (HAS_PEEPHOLES) {
                        to_input += LOAD(peephole + unit) * cell;
                        to_forget += LOAD(peephole + 2 * HIDDEN + unit) * cell;
                    }
                    // The last gate of an LSTM; a GRU has none after it.
                    const vector value = tanh(clipped(sums[(GATES - 1) * SAMPLES + s], bound));
                    const vector new_cell = sigmoid(clipped(to_forget, bound)) * cell
                        + sigmoid(clipped(to_input, bound)) * value;
                    if (HAS_PEEPHOLES) {
                        to_output += LOAD(peephole + HIDDEN + unit) * new_cell;
                    }
                    STORE(new_cell, c + place);
                    result = sigmoid(clipped(to_output, bound)) * tanh(clipped(new_cell, bound));
                } else {
                    vector update = LOAD(h + next + place);
                    vector candidate = sums[2 * SAMPLES + s];
                    if (RESETS_AFTER) {
                        const integer at = times[s] * step_stride + samples[s] * sample_stride + 2 * HIDDEN + unit;
                        const vector reset = sigmoid(clipped(sums[SAMPLES + s], bound));
                        update = sigmoid(clipped(sums[s], bound));
                        candidate = LOAD(x + at) + LOAD(bias + 2 * HIDDEN + unit) + reset * candidate;
                    }
                    result = (1.0f - update) * tanh(clipped(candidate, bound)) + update * before;
                }
                STORE(is_over ? before : result, h + next + place);
                if (HAS_Y) {
                    const integer row = ((integer)times[s] * directions + direction) * batch + samples[s];
                    write_units(y + row * HIDDEN, unit, result);
                }
            }
        }
        BARRIER();
    }

    for (int panel = first_panel; panel < end_panel; panel++) {
        const int unit = panel * PANEL + LANE(0) * WIDTH;
        for (int s = 0; s < SAMPLES; s++) {
            const integer state = ((integer)direction * batch + samples[s]) * HIDDEN;
            if (HAS_LAST_H) {
                write_units(last_h + state, unit, LOAD(h + ((end - begin) & 1) * STATES + s * UNITS + unit));
            }
            if (HAS_LAST_C) {
                write_units(last_c + state, unit, LOAD(c + s * UNITS + unit));
            }
        }
    }
}
