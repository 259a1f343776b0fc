/* The model: a network of three layers, read from a file of safetensors. Put your own here. */

#ifndef NETWORK_H
#define NETWORK_H

enum { PIXEL_COUNT = 64, CLASS_COUNT = 10 };

typedef struct Network Network;

/* Reads the weights. Null if it cannot, and then `*why` says why not. */
Network *network_read(const char *path, const char **why);

/* Classifies an image of PIXEL_COUNT values: a score for each of CLASS_COUNT classes. Any thread may call it. */
void network_classify(const Network *network, const float *pixels, float *scores);

void network_free(Network *network);

#endif
