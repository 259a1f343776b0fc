// One value of each window of an image: the greatest, or the mean.
//
// An item computes one element of the result. Elements beyond the image never win; in a mean they count as zeros if
// COUNTS_PADS, as far as the pads reach.

KERNEL void pool(
    GLOBAL const STORED* images, GLOBAL STORED* to, const integer begin, const int channels,
    const int depth, const int height, const int width,
    const int window_depth, const int window_height, const int window_width,
    const int out_depth, const int out_height, const int out_width,
    const int stride_depth, const int stride_height, const int stride_width,
    const int dilation_depth, const int dilation_height, const int dilation_width,
    const int pad_begin_depth, const int pad_begin_height, const int pad_begin_width,
    const int pad_end_depth, const int pad_end_height, const int pad_end_width) {
    // Along one dimension, since some devices have few groups along the others.
    const int place_count = out_depth * out_height * out_width;
    const int n = ITEM(0) % place_count;
    const int channel = ITEM(0) / place_count;
    if (channel >= channels) {
        return;
    }
    const int from_x = n % out_width * stride_width - pad_begin_width;
    const int from_y = n / out_width % out_height * stride_height - pad_begin_height;
    const int from_d = n / (out_width * out_height) * stride_depth - pad_begin_depth;
    GLOBAL const STORED* image = images + begin + (integer)channel * depth * height * width;
    float value = IS_MAX ? -INFINITY : 0.0f;
    int count = 0;
    for (int d = from_d; d < from_d + window_depth * dilation_depth; d += dilation_depth) {
        for (int y = from_y; y < from_y + window_height * dilation_height; y += dilation_height) {
            for (int x = from_x; x < from_x + window_width * dilation_width; x += dilation_width) {
                const int is_inside = x >= 0 && x < width && y >= 0 && y < height && d >= 0 && d < depth;
                const int is_padded =
                    d < depth + pad_end_depth && y < height + pad_end_height && x < width + pad_end_width;
                if (is_inside) {
                    const float element = READ(image, ((integer)d * height + y) * width + x);
                    value = IS_MAX ? fmax(value, element) : value + element;
                }
                count += COUNTS_PADS ? is_padded : is_inside;
            }
        }
    }
    WRITE(IS_MAX ? value : value / (float)count, to, ITEM(0));
}
