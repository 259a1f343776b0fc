/*
 * The plugin @NAME@: classifies handwritten digits.
 *
 * Start here: put your own model into network.c. proctor_plugin.h says what each function is for, on which thread it is
 * called, and what else a plugin can have.
 */

#include "network.h"
#include "proctor_plugin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}

/* Writes why a call fails, and returns the status. */
static ProctorStatus fail(ProctorError *error, ProctorStatus status, const char *format, ...) {
  if (error->capacity == 0)
    return status;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf((char *)error->message, error->capacity, format, arguments);
  va_end(arguments);
  error->length = length < 0 ? 0 : (size_t)length < error->capacity ? (size_t)length : error->capacity - 1;
  return status;
}

static int is(ProctorString text, const char *word) {
  return text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

static const ProctorManifest *describe(void) {
  static const ProctorModelSupport models[] = {{.model = TEXT("digits-mlp"),
                                                .format = TEXT("safetensors"),
                                                .precision = TEXT("f32"),
                                                .device = TEXT("cpu"),
                                                .scenarios = PROCTOR_SCENARIO_SINGLE_STREAM |
                                                             PROCTOR_SCENARIO_MULTI_STREAM | PROCTOR_SCENARIO_SERVER |
                                                             PROCTOR_SCENARIO_OFFLINE}};
  static const ProctorManifest manifest = {.size = sizeof manifest,
                                           .name = TEXT("@NAME@"),
                                           .version = TEXT("0.1.0"),
                                           .license = TEXT("proprietary"),
                                           .description = TEXT("Classifies digits."),
                                           .capabilities = PROCTOR_CAPABILITY_EXECUTE,
                                           .models = models,
                                           .model_count = 1,
                                           .model_stride = sizeof models[0]};
  return &manifest;
}

/* Opens the device. This plugin has none, so the address of anything serves as the backend. */
static ProctorStatus open_backend(const ProctorOpenRequest *request, ProctorBackend **backend, ProctorError *error) {
  static char nothing;
  (void)request, (void)error;
  *backend = (ProctorBackend *)&nothing;
  return PROCTOR_STATUS_OK;
}

static ProctorStatus load_model(ProctorBackend *backend, const ProctorModelRequest *request, ProctorModel **model,
                                ProctorError *error) {
  (void)backend;
  const ProctorFile *file = request->files;
  if (request->file_count == 0 || !is(file->format, "safetensors"))
    return fail(error, PROCTOR_STATUS_UNSUPPORTED, "there is no safetensors file for this model");
  /* A text of the host has a length, and no zero at its end. */
  char path[4096];
  if (file->path.length >= sizeof path)
    return fail(error, PROCTOR_STATUS_UNSUPPORTED, "the path of the model is too long");
  memcpy(path, file->path.data, file->path.length);
  path[file->path.length] = 0;
  const char *why;
  Network *network = network_read(path, &why);
  if (network == NULL)
    return fail(error, PROCTOR_STATUS_FAILED, "%s: %s", path, why);
  *model = (ProctorModel *)network;
  return PROCTOR_STATUS_OK;
}

/* Makes one copy of the model; here all share the weights, which nothing changes. */
static ProctorStatus create_instance(ProctorModel *model, const ProctorPlacement *placement,
                                     ProctorInstance **instance, ProctorError *error) {
  (void)placement, (void)error;
  *instance = (ProctorInstance *)model;
  return PROCTOR_STATUS_OK;
}

static ProctorStatus execute(ProctorInstance *instance, ProctorBatch *batch, ProctorError *error) {
  (void)error;
  for (size_t i = 0; i < batch->sample_count; i++) {
    /* The elements of a newer host may be larger than this header knows them: step by the stride. */
    ProctorBatchSample *sample = (void *)((char *)batch->samples + i * batch->sample_stride);
    network_classify((const Network *)instance, sample->inputs->data, sample->outputs->data);
    sample->outputs->size_bytes = CLASS_COUNT * sizeof(float);
  }
  return PROCTOR_STATUS_OK;
}

static ProctorStatus destroy_instance(ProctorInstance *instance, ProctorError *error) {
  (void)instance, (void)error;
  return PROCTOR_STATUS_OK;
}

static ProctorStatus unload_model(ProctorModel *model, ProctorError *error) {
  (void)error;
  network_free((Network *)model);
  return PROCTOR_STATUS_OK;
}

static ProctorStatus close_backend(ProctorBackend *backend, ProctorError *error) {
  (void)backend, (void)error;
  return PROCTOR_STATUS_OK;
}

const ProctorPlugin *proctor_plugin_entry(const ProctorVersionRange *speaks, ProctorError *refusal) {
  static const ProctorPlugin plugin = {.size = sizeof plugin,
                                       .abi_major = PROCTOR_ABI_MAJOR,
                                       .abi_minor = PROCTOR_ABI_MINOR,
                                       .describe = describe,
                                       .open = open_backend,
                                       .load_model = load_model,
                                       .create_instance = create_instance,
                                       .execute = execute,
                                       .destroy_instance = destroy_instance,
                                       .unload_model = unload_model,
                                       .close = close_backend};
  (void)speaks, (void)refusal;
  return &plugin;
}
