#include "network.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER_COUNT = 3, WIDTH_MAX = 128 };

/* Widths of the layers, the pixels first and the classes last. */
static const size_t widths[LAYER_COUNT + 1] = {PIXEL_COUNT, 128, 64, CLASS_COUNT};

/* outputs = weight * inputs + bias; the weight is row-major, with a row for each output. */
typedef struct {
  float *weight, *bias;
} Layer;

struct Network {
  Layer layers[LAYER_COUNT];
};

/* Reads a whole file, with a zero after its end; null if it cannot be read. */
static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return NULL;
  char *bytes = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    long end = ftell(file);
    rewind(file);
    if (end >= 0 && (bytes = malloc((size_t)end + 1)) != NULL) {
      *size = fread(bytes, 1, (size_t)end, file);
      bytes[*size] = 0;
    }
  }
  fclose(file);
  return bytes;
}

/*
 * Copies a tensor of `count` floats out of a file of safetensors: a length of eight bytes, JSON that says where each
 * tensor lies, and the tensors. Null if the file does not have it.
 */
static float *read_tensor(const char *file, size_t size, const char *name, size_t count) {
  uint64_t header_size;
  if (size < sizeof header_size)
    return NULL;
  memcpy(&header_size, file, sizeof header_size);
  if (header_size > size - sizeof header_size)
    return NULL;
  char key[64];
  snprintf(key, sizeof key, "\"%s\":{\"dtype\":\"F32\"", name);
  const char *entry = strstr(file + sizeof header_size, key);
  const char *offsets = entry == NULL ? NULL : strstr(entry, "\"data_offsets\":[");
  uint64_t begin, end;
  if (offsets == NULL || sscanf(offsets, "\"data_offsets\":[%" SCNu64 ",%" SCNu64, &begin, &end) != 2)
    return NULL;
  uint64_t data_size = size - sizeof header_size - header_size;
  if (begin > end || end > data_size || end - begin != count * sizeof(float))
    return NULL;
  float *tensor = malloc(count * sizeof(float));
  if (tensor != NULL)
    memcpy(tensor, file + sizeof header_size + header_size + begin, count * sizeof(float));
  return tensor;
}

Network *network_read(const char *path, const char **why) {
  size_t size = 0;
  char *file = read_file(path, &size);
  Network *network = calloc(1, sizeof *network);
  int is_whole = file != NULL && network != NULL;
  for (size_t i = 0; i < LAYER_COUNT && is_whole; i++) {
    char weight[16], bias[16];
    snprintf(weight, sizeof weight, "fc%zu.weight", i + 1);
    snprintf(bias, sizeof bias, "fc%zu.bias", i + 1);
    Layer *layer = &network->layers[i];
    layer->weight = read_tensor(file, size, weight, widths[i + 1] * widths[i]);
    layer->bias = read_tensor(file, size, bias, widths[i + 1]);
    is_whole = layer->weight != NULL && layer->bias != NULL;
  }
  *why = file == NULL ? "it cannot be read" : "it does not have the weights of this network in f32";
  free(file);
  if (is_whole)
    return network;
  network_free(network);
  return NULL;
}

void network_classify(const Network *network, const float *pixels, float *scores) {
  float hidden[2][WIDTH_MAX];
  const float *inputs = pixels;
  for (size_t i = 0; i < LAYER_COUNT; i++) {
    const Layer *layer = &network->layers[i];
    int is_last = i + 1 == LAYER_COUNT;
    float *outputs = is_last ? scores : hidden[i % 2];
    for (size_t row = 0; row < widths[i + 1]; row++) {
      float sum = layer->bias[row];
      for (size_t column = 0; column < widths[i]; column++)
        sum += layer->weight[row * widths[i] + column] * inputs[column];
      outputs[row] = is_last || sum > 0 ? sum : 0;
    }
    inputs = outputs;
  }
}

void network_free(Network *network) {
  if (network == NULL)
    return;
  for (size_t i = 0; i < LAYER_COUNT; i++) {
    free(network->layers[i].weight);
    free(network->layers[i].bias);
  }
  free(network);
}
