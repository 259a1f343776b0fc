// The windows of images as the columns of matrices, for a convolution as a product: row k has element k of each window,
// in the order channel, depth, height, width of the filter, column n has window n of the image.
//
// One matrix for each image and group of channels, packed as gemm.c reads B: element (k, n) at
// (n / COLUMNS) k_end COLUMNS + k COLUMNS + n % COLUMNS, or, if IS_PLAIN, at k n_end + n. An item writes COLUMNS
// elements of a row. Neighbouring items write neighbouring elements: they go along k first, or along n.
// Beyond an image there is `pad`. MOVED is an integer type of the size of an element: the zero of reals has the same
// bits as that of integers.

KERNEL void columns(
    GLOBAL const MOVED* images, GLOBAL MOVED* to, const integer begin, const integer matrix,
    const int channels, const int depth, const int height, const int width,
    const int filter_depth, const int filter_height, const int filter_width,
    const int out_depth, const int out_height, const int out_width,
    const int stride_depth, const int stride_height, const int stride_width,
    const int dilation_depth, const int dilation_height, const int dilation_width,
    const int pad_depth, const int pad_height, const int pad_width, const int pad) {
    const int k_end = channels * filter_depth * filter_height * filter_width;
#if IS_PLAIN
    const int k = ITEM(1);
    const int panel = ITEM(0);
#else
    // Both along one dimension, since some devices have few groups along the others. A group is within a panel.
    const int k_items = (k_end + LANES(0) - 1) / LANES(0) * LANES(0);
    const int k = ITEM(0) % k_items;
    const int panel = ITEM(0) / k_items;
#endif
    const int z = ITEM(2);
    const int n_end = out_depth * out_height * out_width;
    if (k >= k_end || panel * COLUMNS >= n_end) {
        return;
    }
    const int x = k % filter_width;
    const int y = k / filter_width % filter_height;
    const int d = k / (filter_width * filter_height) % filter_depth;
    const int channel = k / (filter_width * filter_height * filter_depth);
    GLOBAL const MOVED* image = images + begin + ((integer)z * channels + channel) * depth * height * width;
#if IS_PLAIN
    GLOBAL MOVED* row = to + z * matrix + (integer)k * n_end + panel * COLUMNS;
    const int row_end = n_end - panel * COLUMNS < COLUMNS ? n_end - panel * COLUMNS : COLUMNS;
#else
    GLOBAL MOVED* row = to + z * matrix + ((integer)panel * k_end + k) * COLUMNS;
    const int row_end = COLUMNS;
#endif
    int out_x = panel * COLUMNS % out_width;
    int out_y = panel * COLUMNS / out_width % out_height;
    int out_d = panel * COLUMNS / (out_width * out_height);
    // Run by run of neighbours in a line of the result. Beyond the last window there is another image, or none: no
    // result takes elements from there.
    for (int j = 0; j < row_end;) {
        const int run = row_end - j < out_width - out_x ? row_end - j : out_width - out_x;
        const int in_x = out_x * stride_width + x * dilation_width - pad_width;
        const int in_y = out_y * stride_height + y * dilation_height - pad_height;
        const int in_d = out_d * stride_depth + d * dilation_depth - pad_depth;
        const int has_line = in_y >= 0 && in_y < height && in_d >= 0 && in_d < depth;
        // Elements of the run that are within the line.
        const int before = in_x < 0 ? (-in_x + stride_width - 1) / stride_width : 0;
        const int after = in_x < width ? (width - in_x + stride_width - 1) / stride_width : 0;
        const int begin = before < run ? before : run;
        const int end = !has_line ? begin : after < begin ? begin : after < run ? after : run;
        GLOBAL const MOVED* line = image + ((integer)in_d * height + in_y) * width + in_x;
        for (int i = 0; i < begin; i++) {
            row[j + i] = (MOVED)pad;
        }
        if (stride_width == 1) {
            for (int i = begin; i < end; i++) {
                row[j + i] = line[i];
            }
        } else {
            for (int i = begin; i < end; i++) {
                row[j + i] = line[i * stride_width];
            }
        }
        for (int i = end; i < run; i++) {
            row[j + i] = (MOVED)pad;
        }
        j += run;
        out_x = 0;
        if (++out_y == out_height) {
            out_y = 0;
            out_d++;
        }
    }
}
