// Convolution of each channel with a filter of its own: as many groups as channels, one or several results of each.
//
// An item computes PLACES neighbours in a row of the result, for which it holds WINDOW elements of a row of the image;
// beyond the image they are zeros. RESULT(x, m, n, z) makes the stored element of a result, as in gemm.c, with m the
// channel and n the place in it. Filters are of A_STORED, images of B_STORED, and both are integers as there if
// IS_INTEGER: a sum of their products is exact, since there are 256 of them at most.

#if IS_INTEGER
#define SUM int
#define READ_A(from, at) (JOIN(READ_, A_STORED)(from, at) - (float)a_zero)
#define READ_B(from, at) (JOIN(READ_, B_STORED)(from, at) - (float)b_zero)
#else
#define SUM float
#define READ_A(from, at) JOIN(READ_, A_STORED)(from, at)
#define READ_B(from, at) JOIN(READ_, B_STORED)(from, at)
#endif
#define WINDOW ((PLACES - 1) * STRIDE_WIDTH + (FILTER_WIDTH - 1) * DILATION_WIDTH + 1)

KERNEL void depthwise(
    GLOBAL const B_STORED* images, GLOBAL const A_STORED* filters, GLOBAL RESULT_TYPE* to,
    const integer images_begin, const integer filters_begin, const integer to_begin,
    const int to_row, const integer to_image,
    const int channels, const int results, const int height, const int width,
    const int filter_height, const int out_height, const int out_width,
    const int stride_height, const int dilation_height, const int pad_height, const int pad_width
    RESULT_PARAMETERS) {
    const int runs = (out_width + PLACES - 1) / PLACES;
    const int m = ITEM(1);
    const int z = ITEM(2);
    if (ITEM(0) >= out_height * runs || m >= channels * results) {
        return;
    }
    // The one level of the stack, for RESULT, which may have no use for it.
    const int inner_count = 1;
    (void)inner_count;
    const int out_y = ITEM(0) / runs;
    const int out_x = ITEM(0) % runs * PLACES;
    const int in_x = out_x * STRIDE_WIDTH - pad_width;
    GLOBAL const B_STORED* image = images + images_begin + ((integer)z * channels + m / results) * height * width;
    GLOBAL const A_STORED* filter = filters + filters_begin + m * filter_height * FILTER_WIDTH;
    float sums[PLACES];
    UNROLL
    for (int j = 0; j < PLACES; j++) {
        sums[j] = 0.0f;
    }
    for (int y = 0; y < filter_height; y++) {
        const int in_y = out_y * stride_height + y * dilation_height - pad_height;
        if (in_y < 0 || in_y >= height) {
            continue;
        }
        GLOBAL const B_STORED* line = image + in_y * width;
        float window[WINDOW];
        if (in_x >= 0 && in_x + WINDOW <= width) {
            UNROLL
            for (int i = 0; i < WINDOW; i++) {
                window[i] = READ_B(line, in_x + i);
            }
        } else {
            UNROLL
            for (int i = 0; i < WINDOW; i++) {
                window[i] = in_x + i >= 0 && in_x + i < width ? READ_B(line, in_x + i) : 0.0f;
            }
        }
        UNROLL
        for (int x = 0; x < FILTER_WIDTH; x++) {
            const float factor = READ_A(filter, y * FILTER_WIDTH + x);
            UNROLL
            for (int j = 0; j < PLACES; j++) {
                sums[j] += factor * window[j * STRIDE_WIDTH + x * DILATION_WIDTH];
            }
        }
    }
    const int n = out_y * out_width + out_x;
    UNROLL
    for (int j = 0; j < PLACES; j++) {
        if (out_x + j < out_width) {
            const integer at = to_begin + z * to_image + (integer)m * to_row + n + j;
            WRITE_RESULT(RESULT((SUM)sums[j], m, n + j, z), to, at);
        }
    }
}
