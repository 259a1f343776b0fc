// One value of each window of an image: the greatest, or the mean.
//
// An item computes one element of the result. Elements beyond the image never win; in a mean they count as zeros if
// COUNTS_PADS, as far as the pads reach.

KERNEL void pool(
    GLOBAL const float* images, GLOBAL float* to, const whole begin,
    const int depth, const int height, const int width,
    const int window_depth, const int window_height, const int window_width,
    const int out_depth, const int out_height, const int out_width,
    const int stride_depth, const int stride_height, const int stride_width,
    const int step_depth, const int step_height, const int step_width,
    const int pad_depth, const int pad_height, const int pad_width,
    const int behind_depth, const int behind_height, const int behind_width) {
    const int n = ITEM(0);
    const int channel = ITEM(1);
    if (n >= out_depth * out_height * out_width) {
        return;
    }
    const int from_x = n % out_width * stride_width - pad_width;
    const int from_y = n / out_width % out_height * stride_height - pad_height;
    const int from_d = n / (out_width * out_height) * stride_depth - pad_depth;
    GLOBAL const float* image = images + begin + (whole)channel * depth * height * width;
    float value = IS_MAX ? -INFINITY : 0.0f;
    int count = 0;
    for (int d = from_d; d < from_d + window_depth * step_depth; d += step_depth) {
        for (int y = from_y; y < from_y + window_height * step_height; y += step_height) {
            for (int x = from_x; x < from_x + window_width * step_width; x += step_width) {
                const int is_inside = x >= 0 && x < width && y >= 0 && y < height && d >= 0 && d < depth;
                const int is_padded = d < depth + behind_depth && y < height + behind_height && x < width + behind_width;
                if (is_inside) {
                    const float element = image[((whole)d * height + y) * width + x];
                    value = IS_MAX ? fmax(value, element) : value + element;
                }
                count += COUNTS_PADS ? is_padded : is_inside;
            }
        }
    }
    to[(whole)channel * out_depth * out_height * out_width + n] = IS_MAX ? value : value / (float)count;
}
