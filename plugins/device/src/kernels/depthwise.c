// Convolution of each channel with a filter of its own: as many groups as channels, one or several results of each.
//
// An item computes one element of the result. RESULT(x, m, n, z) makes the stored element of it, as in gemm.c, with m
// the channel and n the place in it.

KERNEL void depthwise(
    GLOBAL const STORED* images, GLOBAL const STORED* filters, GLOBAL RESULT_TYPE* to,
    const integer images_begin, const integer filters_begin, const integer to_begin,
    const int to_row, const integer to_image,
    const int channels, const int results, const int height, const int width,
    const int filter_height, const int filter_width, const int out_height, const int out_width,
    const int stride_height, const int stride_width, const int dilation_height, const int dilation_width,
    const int pad_height, const int pad_width
    RESULT_PARAMETERS) {
    const int n = ITEM(0);
    const int m = ITEM(1);
    const int z = ITEM(2);
    if (n >= out_height * out_width || m >= channels * results) {
        return;
    }
    // The one level of the stack, for RESULT, which may have no use for it.
    const int inner_count = 1;
    (void)inner_count;
    const int out_y = n / out_width;
    const int out_x = n % out_width;
    GLOBAL const STORED* image = images + images_begin + ((integer)z * channels + m / results) * height * width;
    GLOBAL const STORED* filter = filters + filters_begin + m * filter_height * filter_width;
    float sum = 0.0f;
    for (int y = 0; y < filter_height; y++) {
        const int in_y = out_y * stride_height + y * dilation_height - pad_height;
        if (in_y < 0 || in_y >= height) {
            continue;
        }
        for (int x = 0; x < filter_width; x++) {
            const int in_x = out_x * stride_width + x * dilation_width - pad_width;
            if (in_x >= 0 && in_x < width) {
                sum += READ(filter, y * filter_width + x) * READ(image, in_y * width + in_x);
            }
        }
    }
    WRITE_RESULT(RESULT(sum, m, n, z), to, to_begin + z * to_image + (integer)m * to_row + n);
}
