/*
 * The plugin ABI of Proctor, for C99 and C++11. Generated from plugin-api/src/abi; do not edit.
 *
 * A plugin is a shared library that exports one function, `proctor_plugin_entry`, and answers with a ProctorPlugin. This
 * one is whole, and answers every sample with zeros:
 *
 *     #include <string.h>
 *     #include "proctor_plugin.h"
 *     #define TEXT(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}
 *     static char object;  // it keeps nothing, so one address serves for all objects
 *
 *     static const ProctorManifest *describe(void) {
 *       static const ProctorModelSupport models[] = {{.model = TEXT("*"), .format = TEXT("*"),
 *           .precision = TEXT("f32"), .device = TEXT("cpu"),
 *           .scenarios = PROCTOR_SCENARIO_SINGLE_STREAM | PROCTOR_SCENARIO_OFFLINE}};
 *       static const ProctorManifest manifest = {.size = sizeof manifest, .name = TEXT("mine"), .version = TEXT("1"),
 *           .license = TEXT("MIT"), .capabilities = PROCTOR_CAPABILITY_EXECUTE, .models = models, .model_count = 1,
 *           .model_stride = sizeof models[0]};
 *       return &manifest;
 *     }
 *     static ProctorStatus open_backend(const ProctorOpenRequest *request, ProctorBackend **backend,
 *                                       ProctorError *error) {
 *       (void)request, (void)error;
 *       *backend = (ProctorBackend *)&object;
 *       return PROCTOR_STATUS_OK;
 *     }
 *     static ProctorStatus load_model(ProctorBackend *backend, const ProctorModelRequest *request,
 *                                     ProctorModel **model, ProctorError *error) {
 *       (void)backend, (void)request, (void)error;
 *       *model = (ProctorModel *)&object;
 *       return PROCTOR_STATUS_OK;
 *     }
 *     static ProctorStatus create_instance(ProctorModel *model, const ProctorPlacement *placement,
 *                                          ProctorInstance **instance, ProctorError *error) {
 *       (void)model, (void)placement, (void)error;
 *       *instance = (ProctorInstance *)&object;
 *       return PROCTOR_STATUS_OK;
 *     }
 *     static ProctorStatus execute(ProctorInstance *instance, ProctorBatch *batch, ProctorError *error) {
 *       (void)instance, (void)error;
 *       for (size_t i = 0; i < batch->sample_count; i++) {
 *         ProctorBatchSample *sample = (void *)((char *)batch->samples + i * batch->sample_stride);
 *         for (size_t j = 0; j < sample->output_count; j++) {
 *           ProctorOutput *output = (void *)((char *)sample->outputs + j * batch->output_stride);
 *           memset(output->data, 0, output->capacity_bytes);
 *           output->size_bytes = output->capacity_bytes;
 *         }
 *       }
 *       return PROCTOR_STATUS_OK;
 *     }
 *     static ProctorStatus destroy_instance(ProctorInstance *instance, ProctorError *error) {
 *       (void)instance, (void)error;
 *       return PROCTOR_STATUS_OK;
 *     }
 *     static ProctorStatus unload_model(ProctorModel *model, ProctorError *error) {
 *       (void)model, (void)error;
 *       return PROCTOR_STATUS_OK;
 *     }
 *     static ProctorStatus close_backend(ProctorBackend *backend, ProctorError *error) {
 *       (void)backend, (void)error;
 *       return PROCTOR_STATUS_OK;
 *     }
 *     const ProctorPlugin *proctor_plugin_entry(const ProctorVersionRange *speaks, ProctorError *refusal) {
 *       static const ProctorPlugin plugin = {.size = sizeof plugin, .abi_major = PROCTOR_ABI_MAJOR,
 *           .abi_minor = PROCTOR_ABI_MINOR, .describe = describe, .open = open_backend, .load_model = load_model,
 *           .create_instance = create_instance, .execute = execute, .destroy_instance = destroy_instance,
 *           .unload_model = unload_model, .close = close_backend};
 *       (void)speaks, (void)refusal;
 *       return &plugin;
 *     }
 *
 * Build. C99 or C++11, 64 bits, no packed structures. The file of the plugin `my-chip` is called `libmy_chip_sut.so`:
 *
 *     cc -std=c99 -O2 -shared -fPIC -fvisibility=hidden -I include -o libmine_sut.so mine.c
 *     host run --plugin ./libmine_sut.so
 *
 * Build where glibc is no newer than on the machines that the plugin is for. In C++ add -static-libstdc++ if their
 * libstdc++ may be older, and let no exception out of a function. Do not link with -ffast-math: a library that is linked
 * with it changes how the whole host computes.
 *
 * How it grows. Fields are only ever appended, and zero means "not there" for each of them. A structure that one side
 * hands to the other by itself begins with its size, as that side was compiled: read no field beyond it, and fill in the
 * size of what you hand over. An array has its stride, the distance of two of its elements, in the structure that carries
 * it: step by that, not by sizeof, as above, for a newer host's elements may be larger. A plugin built from this header
 * runs on every host of the same major version; fields and functions of a later minor version are there if the host's
 * structure is large enough. A later minor version may raise a limit, but never lowers one.
 *
 * Extensions. Optional features are structures that are asked for by an id, of the plugin by ProctorPlugin.extension, of
 * the host by ProctorHost.extension. Ids that begin with `proctor.` are this header's; any other belongs to the vendor
 * that it names, as in `vendor.feature/1`. A side that does not know an id answers null. An id that ends in /0 is a draft,
 * which may change until it is called /1. What has to be known of a plugin before it is opened is a capability of its
 * manifest besides; the host ignores the capabilities that it does not know.
 *
 * Status. What a status other than PROCTOR_STATUS_OK does, call by call; the code is that of the program at its end.
 * Each is shown with the name of the call, the status and the message, and no result is lost that was there before.
 *
 *     describe, entry: null                       the plugin is not used                                       code 3
 *     open, load_model, create_instance           the run ends before the test                                 code 3
 *     prepare_samples, start                      the run ends before the test                                 code 3
 *     warm_up                                     the run goes on, and is INVALID                              code 1
 *     execute                                     the samples of the batch have failed; INVALID                code 1
 *     issue: PROCTOR_STATUS_BUSY                  the query is issued again, as long as samples complete
 *     issue: any other                            its samples that are not complete have failed; INVALID       code 1
 *     flush, stop, release_samples                the result stands, and is INVALID; what the call was to end
 *     destroy_instance, unload_model, close       has ended all the same                                       code 1
 *     status of a sample or of a response         the sample has failed; the run goes on, and is INVALID       code 1
 *     execute that does not return                the run goes on without the instance; INVALID                code 1
 *     any other call that does not return         the run ends after `watchdog_ms`, a setting of the user      code 3
 *     a crash, an exception, exit                 the run ends with a report of the call                       code 70
 *
 * Limits are constants below, each named PROCTOR_..._MAX; what exceeds one is named as a fault.
 */

#ifndef PROCTOR_PLUGIN_H
#define PROCTOR_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Objects of the plugin, which only the plugin looks into. */
typedef struct ProctorBackend ProctorBackend;
typedef struct ProctorModel ProctorModel;
typedef struct ProctorInstance ProctorInstance;

/* Ids of the extensions, for ProctorPlugin.extension or ProctorHost.extension. */
#define PROCTOR_EXTENSION_ISSUE "proctor.issue/1"
#define PROCTOR_EXTENSION_EXPLAIN "proctor.explain/1"
#define PROCTOR_EXTENSION_LIVE_INSTANCES "proctor.live_instances/1"
#define PROCTOR_EXTENSION_DEVICES "proctor.devices/1"
#define PROCTOR_EXTENSION_ENERGY "proctor.energy/1"
#define PROCTOR_EXTENSION_SUBMIT "proctor.submit/1"
#define PROCTOR_EXTENSION_MEMORY "proctor.memory/1"

/* Ids of drafts, for ProctorPlugin.extension or ProctorHost.extension. */
#define PROCTOR_EXTENSION_VIRTUAL_TIME "proctor.virtual_time/0"
#define PROCTOR_EXTENSION_INPUT_FORM "proctor.input_form/0"
#define PROCTOR_EXTENSION_INSTANCE_THREAD "proctor.instance_thread/0"
#define PROCTOR_EXTENSION_TOKENS "proctor.tokens/0"

/* ---- Constants ---- */

/* Major version of the ABI. A different major means a different, incompatible table. */
#define PROCTOR_ABI_MAJOR 1

/* Minor version of the ABI. A higher minor only appends fields and adds functions, extensions and codes. */
#define PROCTOR_ABI_MINOR 3

/* Largest size of a structure, and of an element of an array, in bytes. */
#define PROCTOR_STRUCTURE_SIZE_MAX (64 << 10)

/* Largest number of elements of an array of the manifest. */
#define PROCTOR_LIST_COUNT_MAX (64 << 10)

/* Longest text of the manifest, in bytes. */
#define PROCTOR_TEXT_LENGTH_MAX (1 << 20)

/* Longest name of a plugin, model, precision, device or option, in bytes. */
#define PROCTOR_NAME_LENGTH_MAX 128

/* Largest number of responses of one call. */
#define PROCTOR_RESPONSE_COUNT_MAX (1 << 28)

/* Longest message of an error, of a failed sample, or in the log, in bytes; the rest is cut off. */
#define PROCTOR_MESSAGE_LENGTH_MAX 4096

/* Longest name of a metric, in bytes of printable ASCII. */
#define PROCTOR_METRIC_NAME_LENGTH_MAX 128

/* Largest number of metrics of a plugin. */
#define PROCTOR_METRIC_COUNT_MAX 4096

/* Longest name of a stage, in bytes of printable ASCII. */
#define PROCTOR_STAGE_NAME_LENGTH_MAX 64

/* Largest number of stages of a batch or of a call. */
#define PROCTOR_STAGE_COUNT_MAX 64

/* Largest number of names that the stages of a plugin have. */
#define PROCTOR_STAGE_NAME_COUNT_MAX 64

/* Alignment of each input and output tensor of a sample in host memory, in bytes. */
#define PROCTOR_TENSOR_ALIGNMENT 64

/* The call did what it says. */
#define PROCTOR_STATUS_OK 0

/* The call failed for a reason that has no code of its own; the message says why. */
#define PROCTOR_STATUS_FAILED 1

/* An argument makes no sense: null where that is not allowed, a size that is too small, an unknown code. */
#define PROCTOR_STATUS_INVALID_ARGUMENT 2

/* The plugin cannot do this (model, precision, shape, device); the message gives the reason. */
#define PROCTOR_STATUS_UNSUPPORTED 3

/* The call does not fit the state of the object, see the life cycle in ProctorPlugin. */
#define PROCTOR_STATUS_WRONG_STATE 4

/* Host or device memory ran out. */
#define PROCTOR_STATUS_OUT_OF_MEMORY 5

/* The device is absent or stopped answering. */
#define PROCTOR_STATUS_DEVICE_LOST 6

/* The host asked for an end of the work, see ProctorHost.is_cancelled. */
#define PROCTOR_STATUS_CANCELLED 7

/* The plugin panicked or threw, and caught it at the boundary. */
#define PROCTOR_STATUS_PANICKED 8

/*
 * A bounded queue is full. Returned from ProctorIssue.issue: no sample of the query was taken, and the host issues
 * the same query again a little later; its latency goes on counting. Elsewhere it is a failure.
 */
#define PROCTOR_STATUS_BUSY 9

/* A defect of the plugin itself. */
#define PROCTOR_STATUS_INTERNAL 10

/*
 * The plugin runs batches that the host forms: create_instance, execute and destroy_instance of ProctorPlugin. A
 * plugin has this capability, or PROCTOR_CAPABILITY_ISSUE, or both.
 */
#define PROCTOR_CAPABILITY_EXECUTE 1

/* The plugin can take whole queries: the extension PROCTOR_EXTENSION_ISSUE. */
#define PROCTOR_CAPABILITY_ISSUE 2

/* The plugin can run in virtual time: the extension PROCTOR_EXTENSION_VIRTUAL_TIME. */
#define PROCTOR_CAPABILITY_VIRTUAL_TIME 4

/* The system is reached by a network: it is one of MLPerf's network division. */
#define PROCTOR_CAPABILITY_NETWORK 16

/*
 * Several threads may be in ProctorIssue.issue at the same time, each with a query of its own. Without it they take
 * turns. Only beside PROCTOR_CAPABILITY_ISSUE.
 */
#define PROCTOR_CAPABILITY_CONCURRENT_ISSUE 8

/*
 * The model takes samples whose shapes differ from sample to sample: PROCTOR_REQUEST_INPUTS_VARY. Without this bit,
 * and without that one, all have the shapes of the request.
 */
#define PROCTOR_MODEL_DYNAMIC_SHAPES 1

/* Bit of SingleStream in a set of scenarios. */
#define PROCTOR_SCENARIO_SINGLE_STREAM 1

/* Bit of MultiStream in a set of scenarios. */
#define PROCTOR_SCENARIO_MULTI_STREAM 2

/* Bit of Server in a set of scenarios. */
#define PROCTOR_SCENARIO_SERVER 4

/* Bit of Offline in a set of scenarios. */
#define PROCTOR_SCENARIO_OFFLINE 8

/* `true` or `false`. */
#define PROCTOR_OPTION_BOOLEAN 1

/* A 64-bit signed integer. */
#define PROCTOR_OPTION_INTEGER 2

/* A finite double. */
#define PROCTOR_OPTION_FLOAT 3

/* Any text. */
#define PROCTOR_OPTION_TEXT 4

/* The path of a file or folder; the host makes it absolute. */
#define PROCTOR_OPTION_PATH 5

/* One of a fixed list of words. */
#define PROCTOR_OPTION_CHOICE 6

/* Element types of tensors: IEEE binary32. */
#define PROCTOR_ELEMENT_F32 1

/* IEEE binary64. */
#define PROCTOR_ELEMENT_F64 2

/* IEEE binary16. */
#define PROCTOR_ELEMENT_F16 3

/* Upper half of a binary32. */
#define PROCTOR_ELEMENT_BF16 4

/* Signed 8-bit integer. */
#define PROCTOR_ELEMENT_I8 5

/* Unsigned 8-bit integer. */
#define PROCTOR_ELEMENT_U8 6

/* Signed 16-bit integer. */
#define PROCTOR_ELEMENT_I16 7

/* Signed 32-bit integer. */
#define PROCTOR_ELEMENT_I32 8

/* Signed 64-bit integer. */
#define PROCTOR_ELEMENT_I64 9

/* One byte, 0 or 1. */
#define PROCTOR_ELEMENT_BOOL 10

/* Unsigned 16-bit integer. */
#define PROCTOR_ELEMENT_U16 11

/* Unsigned 32-bit integer. */
#define PROCTOR_ELEMENT_U32 12

/* Unsigned 64-bit integer. */
#define PROCTOR_ELEMENT_U64 13

/* Eight bits with 4 of exponent and 3 of mantissa (OCP OFP8 E4M3). */
#define PROCTOR_ELEMENT_F8_E4M3 14

/* Eight bits with 5 of exponent and 2 of mantissa (OCP OFP8 E5M2). */
#define PROCTOR_ELEMENT_F8_E5M2 15

/* Signed 4-bit integers, two in a byte, the first in its lower half; the last dimension is even. */
#define PROCTOR_ELEMENT_I4 16

/* Unsigned 4-bit integers, two in a byte, the first in its lower half; the last dimension is even. */
#define PROCTOR_ELEMENT_U4 17

/*
 * Of the last output a sample may have fewer elements than its shape says, such as the tokens of an answer: the
 * declared shape is the upper bound. Room is made for all of it, and more elements than it has are an error. A sample
 * says how much it has by the size of its output or response in bytes, a whole number of elements.
 */
#define PROCTOR_REQUEST_LAST_OUTPUT_VARIES 1

/*
 * The inputs of a sample may be smaller than their shapes in the request, each sample's by itself: the extents of the
 * request are upper bounds, and ProctorTensor says those of the sample. The number of dimensions is the same. Asked of
 * models with PROCTOR_MODEL_DYNAMIC_SHAPES alone.
 */
#define PROCTOR_REQUEST_INPUTS_VARY 2

/* Something is broken. */
#define PROCTOR_LOG_ERROR 1

/* Something is odd. */
#define PROCTOR_LOG_WARN 2

/* Worth knowing. */
#define PROCTOR_LOG_INFO 3

/* For developers of the plugin. */
#define PROCTOR_LOG_DEBUG 4

/* Everything. */
#define PROCTOR_LOG_TRACE 5

/*
 * Flag of ProctorDevices: instances at different devices may be created at the same time, on a thread for each device.
 */
#define PROCTOR_DEVICES_PARALLEL 1

/* Largest number of batches in flight of an instance. */
#define PROCTOR_SUBMIT_IN_FLIGHT_MAX 64

/* Kinds of memory: memory of the host as any other. */
#define PROCTOR_MEMORY_HOST 0

/* Memory of the host that stays in place, so that a device reads it by itself. */
#define PROCTOR_MEMORY_PINNED 1

/* Memory of a device, which the host reaches by ProctorMemory.copy alone. */
#define PROCTOR_MEMORY_DEVICE 2

/* ---- Structures that every plugin sees ---- */

/*
 * UTF-8 text that is borrowed: it stays the property of the side that made it.
 *
 * `data` need not end with a zero byte. It may be null if `length` is 0; a null `data` also means "not given".
 * Valid for the duration of the call that it was passed to, unless the place that uses it says otherwise.
 */
typedef struct ProctorString {
  /* First byte. */
  const uint8_t *data;
  /* Number of bytes. */
  size_t length;
} ProctorString;

/* One row of the list of what a plugin can run: model or file format, precision, scenarios, device. */
typedef struct ProctorModelSupport {
  /*
   * Model id such as `digits-lstm`, or the beginning of one and `*`; `*` alone is every model that
   * comes in this format.
   */
  struct ProctorString model;
  /* File format that the plugin reads: `safetensors`, `onnx`, ..., `none` if it needs no file, or `*` for any. */
  struct ProctorString format;
  /* Precision that it computes in: `f32`, `bf16`, `f16`, `int8`, ... */
  struct ProctorString precision;
  /* Kind of device: `cpu`, `cuda`, `opencl`, ... */
  struct ProctorString device;
  /* Set of PROCTOR_SCENARIO bits; at least one. */
  uint32_t scenarios;
  /* Largest batch in samples; 0 means no limit. */
  uint32_t batch_size_max;
  /* Set of PROCTOR_MODEL bits. */
  uint64_t flags;
  /* Device memory that one instance needs, in bytes; 0 means not known. */
  uint64_t memory_bytes;
} ProctorModelSupport;

/* One option that a plugin takes, set by `--set <plugin>.<option>=<value>`. */
typedef struct ProctorOptionSpec {
  /* Name: lower-case letters, digits and underscores. */
  struct ProctorString name;
  /*
   * Its effect, in a sentence, with the unit; may be null. The texts of all options together, words of choices
   * included, have at most PROCTOR_TEXT_LENGTH_MAX bytes.
   */
  struct ProctorString help;
  /* Value if the user gives none, as text; null if the option is then left out. */
  struct ProctorString default_value;
  /* One of the PROCTOR_OPTION constants. */
  uint32_t kind;
  /* Number of choices. */
  uint32_t choice_count;
  /* The allowed words of a choice; null for other kinds. */
  const struct ProctorString *choices;
  /* Smallest integer that is allowed. If smallest and largest are both 0, any integer is. */
  int64_t integer_min;
  /* Largest integer that is allowed. */
  int64_t integer_max;
  /* Smallest float that is allowed. If smallest and largest are both 0, any finite one is. */
  double float_min;
  /* Largest float that is allowed. */
  double float_max;
} ProctorOptionSpec;

/*
 * The description of a plugin and of what it can run. Owned by the plugin, valid to the end of the process.
 *
 * Its texts are lines without control characters. They are required and not empty unless they may be null.
 */
typedef struct ProctorManifest {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* Short name, lower-case letters, digits and hyphens: `cpu-rnn`. */
  struct ProctorString name;
  /* Who made it; may be null. */
  struct ProctorString vendor;
  /* Version of the plugin. */
  struct ProctorString version;
  /* Licence, as an SPDX expression or `proprietary`. */
  struct ProctorString license;
  /* Description in a sentence; may be null. */
  struct ProctorString description;
  /* Set of PROCTOR_CAPABILITY bits. */
  uint64_t capabilities;
  /* Models that it can run; at least one element. */
  const struct ProctorModelSupport *models;
  /* Number of elements of `models`. */
  size_t model_count;
  /* Distance of two elements of `models` in bytes. */
  size_t model_stride;
  /* The options that it takes; may be null if there are none. */
  const struct ProctorOptionSpec *options;
  /* Number of elements of `options`. */
  size_t option_count;
  /* Distance of two elements of `options` in bytes. */
  size_t option_stride;
} ProctorManifest;

/* Outcome of a call: one of the PROCTOR_STATUS constants. Any other value is read as PROCTOR_STATUS_INTERNAL. */
typedef int32_t ProctorStatus;

/* The answer to one issued sample. The data belong to the plugin and are read before the call returns. */
typedef struct ProctorResponse {
  /* The id that the sample was issued with. */
  uint64_t id;
  /* The output tensors one after the other; may be null if `size_bytes` is 0. */
  const void *data;
  /* Number of bytes. */
  size_t size_bytes;
  /* PROCTOR_STATUS_OK, or why this sample failed. */
  ProctorStatus status;
  /* Number of output tokens; 0 where tokens have no meaning. */
  uint32_t token_count;
  /* Why the sample failed; may be null. */
  struct ProctorString message;
  /* Code of the vendor's own for the failure; 0 for none. */
  int64_t vendor_code;
} ProctorResponse;

/*
 * A part of the work on a batch or on whole queries, with its instants in the time of ProctorHost.now_ns.
 *
 * Some names have a meaning: `copy_in` (the inputs move to the device), `compute`, and `copy_out` (the outputs move to
 * the host). Others are the plugin's own.
 */
typedef struct ProctorStage {
  /* Name in printable ASCII without spaces, such as `compute`; at most PROCTOR_STAGE_NAME_LENGTH_MAX bytes. */
  struct ProctorString name;
  /* When it began. */
  uint64_t begin_ns;
  /* When it ended; not before it began. */
  uint64_t end_ns;
} ProctorStage;

/* Answers that are handed over at one instant. Owned by the plugin, valid for the duration of the call. */
typedef struct ProctorResponses {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* The answers. */
  const struct ProctorResponse *responses;
  /* Number of elements of `responses`; at most PROCTOR_RESPONSE_COUNT_MAX. */
  size_t response_count;
  /* Distance of two elements of `responses` in bytes. */
  size_t response_stride;
  /*
   * The stages of the work on all of these samples, in order, none beginning before the one before it ended, all
   * between the issue of each sample and this call; may be null if there are none. Read by ProctorHost.complete
   * alone.
   */
  const struct ProctorStage *stages;
  /* Number of elements of `stages`; at most PROCTOR_STAGE_COUNT_MAX. */
  size_t stage_count;
  /* Distance of two elements of `stages` in bytes. */
  size_t stage_stride;
} ProctorResponses;

/* A figure of a plugin. Owned by the plugin, valid for the duration of the call. */
typedef struct ProctorMetric {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* Name in printable ASCII without spaces, such as `gpu_power`; at most PROCTOR_METRIC_NAME_LENGTH_MAX bytes. */
  struct ProctorString name;
  /* Unit, such as `W`, like the name; null for a count or a ratio. The unit of a name never changes. */
  struct ProctorString unit;
  /* The value; finite. */
  double value;
  /*
   * When it was so, in the time of ProctorHost.now_ns; 0 for now. A figure of an instant after now is not taken, and
   * counts as a fault of the plugin.
   */
  uint64_t at_ns;
} ProctorMetric;

/* How far a long call has come. Owned by the plugin, valid for the duration of the call. */
typedef struct ProctorProgress {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* How much is done, in a unit of the plugin's own. */
  uint64_t done;
  /* How much there is to do, in the same unit; 0 if that is not known. */
  uint64_t total;
  /* The work at hand, such as `compiling the engine`; may be null. */
  struct ProctorString task;
} ProctorProgress;

/* The value of one option, checked by the host against its ProctorOptionSpec. */
typedef struct ProctorOptionValue {
  /* Which option. */
  struct ProctorString name;
  /* The value of a text, a path or a choice. */
  struct ProctorString text;
  /* The value of an integer; 0 or 1 for a boolean. */
  int64_t integer;
  /* The value of a float. */
  double number;
  /* One of the PROCTOR_OPTION constants. */
  uint32_t kind;
  /* Zero. */
  uint32_t reserved;
} ProctorOptionValue;

/* The host and the options that a plugin is opened with. Valid for the duration of the call, but for `host`. */
typedef struct ProctorOpenRequest {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* The services of the host; valid to the end of the process. */
  const struct ProctorHost *host;
  /* Each option that has a value; may be null if there are none. */
  const struct ProctorOptionValue *options;
  /* Number of elements of `options`. */
  size_t option_count;
  /* Distance of two elements of `options` in bytes. */
  size_t option_stride;
} ProctorOpenRequest;

/*
 * Room for a message that explains a status other than OK.
 *
 * The host owns it; it is valid for the duration of the call. The plugin writes at most `capacity` bytes of UTF-8
 * to `message` (no terminating zero is needed) and their number to `length`.
 */
typedef struct ProctorError {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* Where to write the message. */
  uint8_t *message;
  /* How many bytes fit. */
  size_t capacity;
  /* How many bytes were written; 0 before the call. */
  size_t length;
  /* Code of the vendor's own, such as that of its driver; 0 for none. */
  int64_t vendor_code;
} ProctorError;

/* One file of a model. */
typedef struct ProctorFile {
  /* Format of the file: `safetensors`, `onnx`, ... */
  struct ProctorString format;
  /* Absolute path; the host has verified its checksum. */
  struct ProctorString path;
} ProctorFile;

/* Name, type and shape of one tensor of one sample; there is no batch dimension. */
typedef struct ProctorTensorSpec {
  /* Name as the model knows it. */
  struct ProctorString name;
  /* Extent of each dimension, row-major; null for a scalar. */
  const uint64_t *shape;
  /* Number of dimensions. */
  uint32_t rank;
  /* One of the PROCTOR_ELEMENT constants. */
  uint32_t element_type;
} ProctorTensorSpec;

/*
 * Hints for one instance, or for one copy of a plugin that is given whole queries. What create_instance is given is
 * the same as in the model request.
 */
typedef struct ProctorPlacement {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* Number of this instance, counted from 0. */
  uint32_t instance_index;
  /* Number of instances. */
  uint32_t instance_count;
  /* Processors that the instance should keep to, by the numbers of the operating system; null for any. */
  const uint32_t *cpus;
  /* Number of elements of `cpus`. */
  size_t cpu_count;
  /* Position of the device in the plugin's list of devices; 0 for a plugin that has no such list. */
  uint32_t device_index;
  /* Zero. */
  uint32_t reserved;
} ProctorPlacement;

/* Which model to load, and how it will be used. Valid for the duration of the call. */
typedef struct ProctorModelRequest {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* Model id, such as `digits-lstm`. */
  struct ProctorString model;
  /* Precision asked for; one that the manifest declares. */
  struct ProctorString precision;
  /* Kind of device asked for; one that the manifest declares. */
  struct ProctorString device;
  /* The model's files, in formats that the manifest declares; may be empty. */
  const struct ProctorFile *files;
  /* Number of elements of `files`. */
  size_t file_count;
  /* Distance of two elements of `files` in bytes. */
  size_t file_stride;
  /* The tensors of one sample that the host will hand in, in order. */
  const struct ProctorTensorSpec *inputs;
  /* Number of elements of `inputs`. */
  size_t input_count;
  /* The tensors of one sample that the host expects back, in order. */
  const struct ProctorTensorSpec *outputs;
  /* Number of elements of `outputs`. */
  size_t output_count;
  /* Distance of two elements of `inputs`, and of `outputs`, in bytes. */
  size_t tensor_spec_stride;
  /* One PROCTOR_SCENARIO bit. */
  uint32_t scenario;
  /* Largest batch that will be asked for. */
  uint32_t batch_size_max;
  /*
   * Number of instances that will be created; 0 for a model that will be given whole queries, also where
   * `placements` tells of several copies.
   */
  uint32_t instance_count;
  /* Set of PROCTOR_REQUEST bits. */
  uint32_t flags;
  /*
   * Bound of the latency of a query in ns, at the percentile that the rules have for the scenario; 0 if there is
   * none.
   */
  uint64_t latency_bound_ns;
  /* Bound of the time to the first token in ns; 0 if there is none. */
  uint64_t first_token_bound_ns;
  /* Bound of the mean time of each token after the first in ns; 0 if there is none. */
  uint64_t per_token_bound_ns;
  /*
   * Mean rate of the queries that arrive whether or not others have completed, per second; 0 if none do. As the
   * settings say when the model is loaded: a search for the highest load changes it.
   */
  double target_qps;
  /*
   * Samples in each query; of Offline, in the one query of the performance run; 0 if not known. As the settings say.
   */
  uint64_t samples_per_query;
  /* Samples in most batches; 0 if not known. */
  uint32_t expected_batch_size;
  /* Zero. */
  uint32_t reserved;
  /*
   * The processors and the device for each instance, in the order of their numbers. A plugin that will be given
   * whole queries is told the same, for as many copies of its own as the user wants.
   */
  const struct ProctorPlacement *placements;
  /* Number of elements of `placements`; 0 if the user has said nothing of them. */
  size_t placement_count;
  /* Distance of two elements of `placements` in bytes. */
  size_t placement_stride;
} ProctorModelRequest;

/*
 * A view of one input tensor of one sample.
 *
 * The bytes belong to the host, are aligned to PROCTOR_TENSOR_ALIGNMENT, are row-major without gaps, and stay where
 * they are from ProctorPlugin.prepare_samples to ProctorPlugin.release_samples, so a plugin may pin or register them
 * (ProctorSampleSet.ranges). With the extension ProctorMemory they lie in memory of the plugin.
 *
 * The samples of a query of MultiStream lie side by side, each at the next multiple of PROCTOR_TENSOR_ALIGNMENT.
 * Where a query goes on from the last sample of the set to the first, the first ones lie behind the last once more:
 * there a batch has them, and there they are for a plugin that is given whole queries.
 */
typedef struct ProctorTensor {
  /* First byte. */
  const void *data;
  /* Number of bytes. */
  size_t size_bytes;
  /* Extent of each dimension. */
  const uint64_t *shape;
  /* Number of dimensions. */
  uint32_t rank;
  /* One of the PROCTOR_ELEMENT constants. */
  uint32_t element_type;
} ProctorTensor;

/*
 * One sample that will be used between prepare_samples and release_samples.
 *
 * In MultiStream a batch with a query that goes on from the last sample of the set to the first has other addresses
 * for the samples after the last: those behind it, which are in no set. Samples of a batch are found by their index.
 */
typedef struct ProctorPreparedSample {
  /* Position in the query sample library. */
  uint64_t index;
  /* The input tensors, in the order of the model request; valid until release_samples. */
  const struct ProctorTensor *inputs;
  /* Number of elements of `inputs`. */
  size_t input_count;
} ProctorPreparedSample;

/* Memory that samples lie in. */
typedef struct ProctorMemoryRange {
  /* First byte, at the beginning of a page. */
  const void *data;
  /* Number of bytes, whole pages. */
  size_t size_bytes;
  /* One of the PROCTOR_MEMORY kinds. */
  uint32_t kind;
  /* Zero. */
  uint32_t reserved;
} ProctorMemoryRange;

/* The samples that will be used next. Valid until release_samples, with all that it points to. */
typedef struct ProctorSampleSet {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* The samples, by ascending index, each once. */
  const struct ProctorPreparedSample *samples;
  /* Number of elements of `samples`. */
  size_t sample_count;
  /* Distance of two elements of `samples` in bytes. */
  size_t sample_stride;
  /* Distance of two elements of the inputs of a sample in bytes. */
  size_t input_stride;
  /* The memory that the inputs lie in, in whole pages, to be pinned or registered; one range for each input. */
  const struct ProctorMemoryRange *ranges;
  /* Number of elements of `ranges`; 0 where the memory is not in whole pages. */
  size_t range_count;
  /* Distance of two elements of `ranges` in bytes. */
  size_t range_stride;
} ProctorSampleSet;

/*
 * Where one output tensor of one sample goes.
 *
 * Either the plugin writes up to `capacity_bytes` to `data`, or it lends memory of its own that the host can read: it
 * sets `lent`, `release` and `context`, and the host calls `release(context)` exactly once, also where the call has
 * failed, when it no longer reads the bytes. In both cases the plugin sets `size_bytes`: to `capacity_bytes`, which is
 * the size of the declared shape; only the last output of a model whose request says
 * PROCTOR_REQUEST_LAST_OUTPUT_VARIES may have fewer elements.
 */
typedef struct ProctorOutput {
  /* Memory of the host, aligned to PROCTOR_TENSOR_ALIGNMENT. */
  void *data;
  /* How many bytes fit. */
  size_t capacity_bytes;
  /* How many bytes the output has; 0 before the call. */
  size_t size_bytes;
  /* Memory of the plugin, or null. */
  const void *lent;
  /* Gives the lent memory back; null if there is nothing to give back. [the thread on which the batch ends] */
  void (*release)(void *context);
  /* Handed to `release`. */
  void *context;
} ProctorOutput;

/* One sample of a batch. */
typedef struct ProctorBatchSample {
  /* Identity of the issued sample, for ProctorHost.first_token. */
  uint64_t id;
  /* Position in the query sample library. */
  uint64_t index;
  /* The input tensors, in the order of the model request. */
  const struct ProctorTensor *inputs;
  /* Number of elements of `inputs`. */
  size_t input_count;
  /* The output tensors, in the order of the model request. */
  struct ProctorOutput *outputs;
  /* Number of elements of `outputs`. */
  size_t output_count;
  /* Written by the plugin: PROCTOR_STATUS_OK, as it is before the call, or why this one sample failed. */
  ProctorStatus status;
  /* Written by the plugin: number of output tokens; 0 where tokens have no meaning. */
  uint32_t token_count;
  /*
   * Written by the plugin: why this sample failed; null before the call. Belongs to the plugin, and has to stay
   * valid until the next call on this thread, other than ProctorOutput.release.
   */
  struct ProctorString message;
  /* Written by the plugin: code of the vendor's own for the failure; 0 before the call. */
  int64_t vendor_code;
} ProctorBatchSample;

/* A batch for one instance. Owned by the host, valid for the duration of the call. */
typedef struct ProctorBatch {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* The samples. */
  struct ProctorBatchSample *samples;
  /* Number of elements of `samples`; at least 1. */
  size_t sample_count;
  /* Distance of two elements of `samples` in bytes. */
  size_t sample_stride;
  /* Distance of two elements of the inputs of a sample in bytes. */
  size_t input_stride;
  /* Distance of two elements of the outputs of a sample in bytes. */
  size_t output_stride;
  /*
   * Written by the plugin if it can: the stages of its work on the batch, in order, none beginning before the one
   * before it ended, all between the begin and the end of the call. Null before the call. Belongs to the plugin, and
   * has to stay valid until the next call on this thread, other than ProctorOutput.release. Not read in virtual
   * time.
   */
  const struct ProctorStage *stages;
  /* Written by the plugin: number of elements of `stages`, at most PROCTOR_STAGE_COUNT_MAX; 0 before the call. */
  size_t stage_count;
  /* Written by the plugin: distance of two elements of `stages` in bytes. */
  size_t stage_stride;
  /* Identity of a batch that is submitted, for ProctorDone, used only once; 0 if the batch is not submitted. */
  uint64_t id;
} ProctorBatch;

/* ---- Functions: the services of the host, the table of a plugin, and the entry ---- */

/*
 * Services of the host. Owned by the host, valid from ProctorPlugin.open to the end of the process.
 *
 * Every function takes `context` as its first argument and may be called from any thread.
 */
typedef struct ProctorHost {
  /* Size of this structure in bytes, as the host was compiled. Read no field that lies beyond it. */
  size_t size;
  /* Major version of the ABI that this host speaks. */
  uint32_t abi_major;
  /* Minor version of the ABI that this host speaks. */
  uint32_t abi_minor;
  /* First argument of all functions below. */
  void *context;
  /*
   * Logs a message. `target` is the part of the plugin that says it, to be filtered by; it may be null. Not for the
   * timed path. Of more than 1000 messages in a second the rest is counted and left out. [any thread]
   */
  void (*log)(void *context, uint32_t level, struct ProctorString target, struct ProctorString message);
  /* The most detailed PROCTOR_LOG level that is kept. [any thread] */
  uint32_t (*log_level)(void *context);
  /* The host's clock in ns: monotonic, and the one that latencies are measured with. [any thread] */
  uint64_t (*now_ns)(void *context);
  /*
   * Completes issued samples, each exactly once, all at the instant of the call. Only for samples that came by
   * the issue extension. Wait-free. [any thread]
   */
  void (*complete)(void *context, const struct ProctorResponses *responses);
  /*
   * Reports the first token of issued or executing samples, with its bytes in `data`. Does not complete them; their
   * status, message and number of tokens are not read. A second one for a sample is a fault in a run that measures
   * tokens, and ignored in any other. Wait-free. [any thread]
   */
  void (*first_token)(void *context, const struct ProctorResponses *responses);
  /* Adds a figure to the result, from open until close returns. Not for the timed path. [any thread] */
  void (*metric)(void *context, const struct ProctorMetric *metric);
  /*
   * Says that a long call makes progress, so that it is not taken for one that hangs: a call outside of the timed
   * part may take as long as it likes if it says so about once a second. [any thread]
   */
  void (*progress)(void *context, const struct ProctorProgress *progress);
  /* Not 0 once the host wants all work to end soon. [any thread] */
  uint32_t (*is_cancelled)(void *context);
  /*
   * A folder for compiled kernels and tuning results that outlives the run, or a null string if there is none.
   * Valid to the end of the process. [any thread]
   */
  struct ProctorString (*cache_folder)(void *context);
  /*
   * An optional feature of the host by its id, or null if this host does not have it. Valid to the end of the
   * process. [any thread]
   */
  const void *(*extension)(void *context, struct ProctorString id);
} ProctorHost;

/*
 * The functions of a plugin. Owned by the plugin, valid to the end of the process: a plugin is never unloaded.
 *
 * Life of a plugin that is given batches:
 *
 * describe, extension                            at any time, always with the same answer; nothing is touched
 * open                                           once
 *   load_model                                   one at a time
 *     create_instance                            for each instance
 *       prepare_samples, warm_up, release_samples     to warm up
 *       prepare_samples, start                   for each part of a test
 *         execute                                any number of times, each instance on its own thread
 *       stop, release_samples
 *     destroy_instance                           for each instance
 *   unload_model
 * close
 *
 * The part from create_instance to destroy_instance repeats for each test of a run (first accuracy, then performance).
 * A plugin that is given whole queries is asked for no instances: the warm_up and issue of ProctorIssue take the place
 * of warm_up and execute, and flush comes before stop.
 * The part from prepare_samples to release_samples repeats in a test whose samples do not fit into memory at once.
 * After a call that failed, the calls that end what it began do not come. Those that end what was there before do,
 * unless the run cannot begin without what failed (describe to start): then the process ends without another call.
 * The library is never unloaded, and the process may end after close without another call.
 *
 * Threads. [main thread] is the thread that called open. [instance thread] is one thread for each instance, the same
 * for all its calls to execute between start and stop. [issuing thread] is a thread that issues queries; it may be the
 * main thread, and there may be several. Calls for a model, its instances and its backend never run at the same time,
 * with these exceptions: execute of one instance beside execute of others; issue beside issue, on several threads,
 * with PROCTOR_CAPABILITY_CONCURRENT_ISSUE; and what an extension says of its own functions.
 *
 * Ownership. What a function is given is the host's, and is read during the call alone, unless the structure says that
 * it stays longer. What a function returns or points to is the plugin's, and stays until the object that it belongs to
 * is ended. A function that returns a status other than PROCTOR_STATUS_OK has made no object.
 *
 * No function may let an exception or a panic out. Each function may write a message to `error`, which is never null.
 * Every function is required unless it says "optional". Calls that end something (release_samples, stop,
 * destroy_instance, unload_model, close) have ended it also where they return a failure, which is reported.
 */
typedef struct ProctorPlugin {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* Major version of the ABI that this table follows. */
  uint32_t abi_major;
  /* Minor version of the ABI that this table follows. */
  uint32_t abi_minor;
  /*
   * Says what the plugin is and can run, without touching a device. What it returns stays to the end of the process;
   * null is an error. Called first, and as often as the host likes. [any thread]
   */
  const struct ProctorManifest *(*describe)(void);
  /*
   * Opens the device or the library below, and writes a backend that is not null. `request->host` stays to the end
   * of the process, the options for the call. Once for each run. [main thread]
   */
  ProctorStatus (*open)(const struct ProctorOpenRequest *request, ProctorBackend **backend, struct ProctorError *error);
  /*
   * Loads a model from its files, and writes a model that is not null; or says UNSUPPORTED with the reason. A
   * backend has one model at a time. May take long, if it tells ProctorHost.progress. [main thread]
   */
  ProctorStatus (*load_model)(ProctorBackend *backend,
                              const struct ProctorModelRequest *request,
                              ProctorModel **model,
                              struct ProctorError *error);
  /*
   * Makes one copy of the model, and writes an instance that is not null. Before prepare_samples. Required with
   * PROCTOR_CAPABILITY_EXECUTE. [main thread]
   */
  ProctorStatus (*create_instance)(ProctorModel *model,
                                   const struct ProctorPlacement *placement,
                                   ProctorInstance **instance,
                                   struct ProctorError *error);
  /*
   * Announces the samples that will be used next, to be pinned, registered or copied. They are the host's, which the
   * plugin only reads; set and samples stay until release_samples. Optional. [main thread]
   */
  ProctorStatus (*prepare_samples)(ProctorModel *model,
                                   const struct ProctorSampleSet *samples,
                                   struct ProctorError *error);
  /*
   * Ends the use of all prepared samples: their memory is freed afterwards. Not between start and stop. Optional.
   * [main thread]
   */
  ProctorStatus (*release_samples)(ProctorModel *model, struct ProctorError *error);
  /*
   * Runs a batch whose outputs are thrown away, before start. Optional: without it the host calls execute, in the
   * same way. The ids of its samples are 0, and first tokens that are reported for them are thrown away. [main
   * thread]
   */
  ProctorStatus (*warm_up)(ProctorInstance *instance, struct ProctorBatch *batch, struct ProctorError *error);
  /* The timed part begins. After prepare_samples. Optional. [main thread] */
  ProctorStatus (*start)(ProctorModel *model, struct ProctorError *error);
  /*
   * Runs a batch to its end: writes each output and its size, and the status of each sample that fails. The host
   * completes the samples when it returns. The batch is the host's for the call, but what is lent as an output stays
   * until it is released. Between start and stop; where there is no warm_up also in its place, on the main thread
   * and before start. Required with PROCTOR_CAPABILITY_EXECUTE. [instance thread]
   */
  ProctorStatus (*execute)(ProctorInstance *instance, struct ProctorBatch *batch, struct ProctorError *error);
  /*
   * No more queries will be issued in this phase: complete what waits. May return before or after that is done.
   * Only called where whole queries were issued. Optional. [a thread of its own; no other call for the model comes
   * until it returns]
   */
  ProctorStatus (*flush)(ProctorModel *model, struct ProctorError *error);
  /* The timed part is over: no sample is outstanding. Optional. [main thread] */
  ProctorStatus (*stop)(ProctorModel *model, struct ProctorError *error);
  /*
   * Ends an instance, which is not used again. After release_samples. Required with PROCTOR_CAPABILITY_EXECUTE.
   * [main thread]
   */
  ProctorStatus (*destroy_instance)(ProctorInstance *instance, struct ProctorError *error);
  /* Unloads a model that has no instances left, and is not used again. [main thread] */
  ProctorStatus (*unload_model)(ProctorModel *model, struct ProctorError *error);
  /*
   * Closes a backend that has no models left; the last call. Threads of the plugin have ended when it returns, or
   * call nothing of the host any more. [main thread]
   */
  ProctorStatus (*close)(ProctorBackend *backend, struct ProctorError *error);
  /*
   * An optional feature by its id, or null if the plugin does not have it. Valid to the end of the process.
   * Optional. [any thread]
   */
  const void *(*extension)(struct ProctorString id);
} ProctorPlugin;

/* The range of ABI versions that a host speaks. */
typedef struct ProctorVersionRange {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* Lowest major version. */
  uint32_t major_min;
  /* Highest major version. */
  uint32_t major_max;
  /* Highest minor version within `major_max`; lower minors are always spoken. */
  uint32_t minor_max;
  /* Zero. */
  uint32_t reserved;
} ProctorVersionRange;

/*
 * Type of the function that every plugin exports under the name `proctor_plugin_entry`.
 *
 * Returns a table of one of the major versions in `speaks`, or null and the reason in `refusal`. [any thread]
 */
typedef const struct ProctorPlugin *(*ProctorPluginEntry)(const struct ProctorVersionRange *speaks,
                                                          struct ProctorError *refusal);

/* ---- Extensions: optional features with structures of their own ---- */

/* One sample of a query that is issued to a plugin. */
typedef struct ProctorQuerySample {
  /* Identity to complete the sample with, exactly once. */
  uint64_t id;
  /* Position in the query sample library. */
  uint64_t index;
} ProctorQuerySample;

/*
 * A query for a plugin that takes whole queries; a part of a large one (Offline); or several that were due, in one
 * call (Server, if the user's settings merge them). The parts of a query come one after the other, all of them
 * scheduled at one instant. Owned by the host, valid for the duration of the call.
 */
typedef struct ProctorQuery {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* The samples. */
  const struct ProctorQuerySample *samples;
  /* Number of elements of `samples`; at least 1. */
  size_t sample_count;
  /* Distance of two elements of `samples` in bytes. */
  size_t sample_stride;
  /* Number of samples of this query that were handed over before; 0 in the first part. */
  uint64_t sample_offset;
  /* Number of samples of the whole query; `sample_count`, unless it comes in parts. */
  uint64_t total_sample_count;
} ProctorQuery;

/*
 * The plugin takes whole queries as LoadGen issues them, and completes them from its own threads in any order by
 * ProctorHost.complete. The host then forms no batches.
 */
typedef struct ProctorIssue {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * Takes a query. Returns without waiting for its completion; may complete inside the call. A status other than OK
   * fails every sample that was not yet completed; but after PROCTOR_STATUS_BUSY the query is issued again, so no
   * sample of it may have been taken. What does not fit into an empty queue may not be refused so: while no sample
   * completes, the host asks for `watchdog_ms` and then ends the test. [issuing thread]
   */
  ProctorStatus (*issue)(ProctorModel *model, const struct ProctorQuery *query, struct ProctorError *error);
  /*
   * Computes the answers to a query of prepared samples, whose ids mean nothing, and throws them away: it completes
   * none of them. Comes between prepare_samples and start. Returns when that is done. Optional. [main thread]
   */
  ProctorStatus (*warm_up)(ProctorModel *model, const struct ProctorQuery *query, struct ProctorError *error);
} ProctorIssue;

/*
 * Where a text goes that the host wants, in one piece or in several. Owned by the host, valid for the duration of the
 * call.
 */
typedef struct ProctorTextSink {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* To be passed to `write`. */
  void *context;
  /* Copies a piece of text. [the thread that was given the structure, during the call that it was given to] */
  void (*write)(void *context, struct ProctorString text);
} ProctorTextSink;

/* The plugin can say in words how a loaded model will run: what it has chosen, from what, and why. */
typedef struct ProctorExplain {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * Writes the text, lines ended by a newline, to `sink`, which is valid for the duration of the call; nothing if
   * there is nothing to say. [main thread]
   */
  ProctorStatus (*explain)(ProctorModel *model, const struct ProctorTextSink *sink, struct ProctorError *error);
} ProctorExplain;

/*
 * Instances may come and go between start and stop, for a host that changes their number under load.
 *
 * Both functions are called on a thread of the host's own, one call at a time, beside execute of other instances.
 * Before start and after stop instances are made and ended by ProctorPlugin, whichever way they are made or ended
 * here.
 */
typedef struct ProctorLiveInstances {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * As ProctorPlugin.create_instance, between start and stop. The instance executes without a warm-up.
   * [a thread of the host's own]
   */
  ProctorStatus (*create)(ProctorModel *model,
                          const struct ProctorPlacement *placement,
                          ProctorInstance **instance,
                          struct ProctorError *error);
  /* As ProctorPlugin.destroy_instance, between start and stop. [a thread of the host's own] */
  ProctorStatus (*destroy)(ProctorInstance *instance, struct ProctorError *error);
} ProctorLiveInstances;

/* A device. Owned by the plugin, valid for the duration of the call. */
typedef struct ProctorDevice {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* Name for people, such as that of the product; one line of at most PROCTOR_NAME_LENGTH_MAX bytes. */
  struct ProctorString name;
  /*
   * Text that tells it from others of its name, also at the next start of the machine: a UUID, a serial number or an
   * address on a bus; one line of at most PROCTOR_NAME_LENGTH_MAX bytes, empty if there is none.
   */
  struct ProctorString id;
  /* Memory of the device in bytes; 0 if not known. */
  uint64_t memory_bytes;
  /* Number of the NUMA node of the host that is nearest; -1 if not known. */
  int32_t numa_node;
  /* Zero. */
  uint32_t reserved;
} ProctorDevice;

/* Where the devices go that the host wants, one by one. Owned by the host, valid for the duration of the call. */
typedef struct ProctorDeviceSink {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* To be passed to `add`. */
  void *context;
  /* Copies a device. [the thread that was given the structure, during the call that it was given to] */
  void (*add)(void *context, const struct ProctorDevice *device);
} ProctorDeviceSink;

/* The plugin has several devices, over which the host spreads the instances: ProctorPlacement.device_index. */
typedef struct ProctorDevices {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* Set of PROCTOR_DEVICES flags. */
  uint32_t flags;
  /* Zero. */
  uint32_t reserved;
  /*
   * Writes each device to `sink`, in an order that stays; none if there is nothing to choose. After open.
   * [main thread]
   */
  ProctorStatus (*list)(ProctorBackend *backend, const struct ProctorDeviceSink *sink, struct ProctorError *error);
} ProctorDevices;

/* The plugin has a counter of the energy that its devices use. */
typedef struct ProctorEnergy {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * Reads the counter, in joules since any instant; it is finite and never decreases. Comes right after start and
   * right before stop; the host takes the difference. UNSUPPORTED if this model has none. [main thread]
   */
  ProctorStatus (*read)(ProctorModel *model, double *joules, struct ProctorError *error);
} ProctorEnergy;

/*
 * The plugin takes a batch before it has done the one before it.
 *
 * A batch that was taken stays valid, with all that it points to, until the plugin reports it once by
 * ProctorSubmitHost.done, from any thread; also inside the call that takes it. The host completes its samples inside
 * `done`. What the batch points to that belongs to the plugin (lent outputs, messages, stages) has to stay valid until
 * `done` returns. Batches may be done in any order. None is in flight when stop or destroy_instance is called.
 *
 * An instance has one thread for each batch that it may have in flight, which is what ProctorInstanceThread tells of;
 * their calls for the instance take turns.
 */
typedef struct ProctorSubmit {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * Largest number of batches of the instance in flight, at most PROCTOR_SUBMIT_IN_FLIGHT_MAX; 0 to be given batches
   * by execute. Asked once, right after the instance was created, on the same thread.
   */
  uint32_t (*in_flight_max)(ProctorInstance *instance);
  /*
   * Takes a batch and returns without waiting for its end. A status other than OK fails the batch, which is then not
   * reported as done. [instance thread]
   */
  ProctorStatus (*submit)(ProctorInstance *instance, struct ProctorBatch *batch, struct ProctorError *error);
} ProctorSubmit;

/* The end of a batch that was submitted. Owned by the plugin, valid for the duration of the call. */
typedef struct ProctorDone {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* ProctorBatch.id. */
  uint64_t batch_id;
  /* PROCTOR_STATUS_OK, or why the whole batch failed. */
  ProctorStatus status;
  /* Zero. */
  uint32_t reserved;
  /* Why it failed; may be null. */
  struct ProctorString message;
  /* Code of the vendor's own for the failure; 0 for none. */
  int64_t vendor_code;
} ProctorDone;

/* The host's side of ProctorSubmit, asked for by ProctorHost.extension. Valid to the end of the process. */
typedef struct ProctorSubmitHost {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* Reports the end of a batch that was submitted. `context` is ProctorHost.context. [any thread] */
  void (*done)(void *context, const struct ProctorDone *done);
} ProctorSubmitHost;

/* A range of memory that the host wants. Owned by the host, valid for the duration of the call. */
typedef struct ProctorAllocation {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /* How many bytes are needed, whole pages; the plugin writes how many there are, which may be more. */
  size_t size_bytes;
  /* Alignment of the first byte, in bytes. */
  size_t alignment;
  /* Written by the plugin: the first byte; null before the call. */
  void *memory;
  /* Written by the plugin: one of the PROCTOR_MEMORY kinds; PROCTOR_MEMORY_HOST before the call. */
  uint32_t kind;
  /* Zero. */
  uint32_t reserved;
} ProctorAllocation;

/*
 * The plugin allocates the memory of the samples, one range for each input. The host decodes straight into it, or,
 * where it is that of a device, has it copied there whole, once; and hands it out in prepare_samples.
 */
typedef struct ProctorMemory {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * Allocates a range, before prepare_samples. UNSUPPORTED leaves it to the host, for this model. The host can read
   * and write the range unless it is of PROCTOR_MEMORY_DEVICE, and nobody else writes to it until it is freed. Its
   * address is not null, and meets no other range in use; what the host refuses stays the plugin's. [main thread]
   */
  ProctorStatus (*allocate)(ProctorModel *model, struct ProctorAllocation *allocation, struct ProctorError *error);
  /* Frees a range, once, after release_samples and before unload_model. [main thread] */
  ProctorStatus (*free)(ProctorModel *model, void *memory, struct ProctorError *error);
  /*
   * Copies from memory of the host to the beginning of a range of PROCTOR_MEMORY_DEVICE, before prepare_samples.
   * Optional for a plugin without such memory. [main thread]
   */
  ProctorStatus (*copy)(ProctorModel *model, void *to, const void *from, size_t size_bytes, struct ProctorError *error);
} ProctorMemory;

/* ---- Drafts: extensions whose id ends in /0; they may change until they are called /1 ---- */

/* Layouts of an input: that of the benchmark. */
#define PROCTOR_INPUT_FORM_AS_GIVEN 0

/* Channels last: an input with the shape C, H, W in the benchmark has the shape H, W, C. */
#define PROCTOR_INPUT_FORM_CHANNELS_LAST 1

/*
 * The plugin can say how long a batch takes instead of taking that long, so that the host simulates a long run in
 * a short time.
 */
typedef struct ProctorVirtualTime {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * As ProctorPlugin.execute, but returns at once and writes the service time in ns. `busy_instances` counts the
   * instances that are executing, this one included. [issuing thread]
   */
  ProctorStatus (*execute)(ProctorInstance *instance,
                           struct ProctorBatch *batch,
                           uint32_t busy_instances,
                           uint64_t *service_time_ns,
                           struct ProctorError *error);
} ProctorVirtualTime;

/* Form of an input. Owned by the host, valid for the duration of the call; before it, that of the benchmark. */
typedef struct ProctorInputForm {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /*
   * Written by the plugin: one of the PROCTOR_ELEMENT types. f32 becomes f16, bf16, i8 or u8, rounded to nearest,
   * ties to even; any other type stays as it is.
   */
  uint32_t element_type;
  /* Written by the plugin: PROCTOR_INPUT_FORM_AS_GIVEN or PROCTOR_INPUT_FORM_CHANNELS_LAST. */
  uint32_t layout;
  /*
   * Written by the plugin where f32 becomes i8 or u8: an integer is value / scale, rounded to nearest, ties to even,
   * plus zero_point, and then the nearest one of its range; that of a NaN is zero_point. Finite and above 0; 1
   * before the call.
   */
  float scale;
  /* Written by the plugin where f32 becomes i8 or u8: the integer of the value 0, in its range; 0 before the call. */
  int32_t zero_point;
} ProctorInputForm;

/*
 * The plugin chooses in which form it is given its inputs. The rules leave open how they are transposed, and in which
 * numerical format they are (MLPerf Inference rules v5.0, section 7.1), so the host converts each sample once, when it
 * is loaded, which is not timed.
 */
typedef struct ProctorInputForms {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * Chooses the form of the input with the position `input` in `request`, which has the inputs as the benchmark has
   * them. Called for each input before load_model, whose request then has the inputs in these forms; nothing is
   * written to `form` for one that stays as it is. A form that cannot be had ends the run. A host that does not know
   * this extension does not call it, so load_model looks at the inputs of its request all the same. [main thread]
   */
  ProctorStatus (*choose)(ProctorBackend *backend,
                          const struct ProctorModelRequest *request,
                          size_t input,
                          struct ProctorInputForm *form,
                          struct ProctorError *error);
} ProctorInputForms;

/*
 * The plugin wants to know the threads that run batches of its instances: to make a context of the device current
 * there, or to set a NUMA policy or a priority. What it changes of the thread stays as it is.
 *
 * A thread begins before its first batch of an instance and ends after its last one, however many phases it sees:
 * what a thread is given it keeps. In a run that is once in the life of an instance. warm_up and destroy_instance come
 * on the main thread, which does not begin. In virtual time no thread begins.
 */
typedef struct ProctorInstanceThread {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /*
   * The calling thread will run batches of the instance. After a failure it runs none: they fail. May come beside
   * calls for the model and for other instances. [instance thread]
   */
  ProctorStatus (*begin)(ProctorInstance *instance, struct ProctorError *error);
  /*
   * The calling thread will run no more batches of the instance. Does not come after a begin that failed.
   * [instance thread]
   */
  ProctorStatus (*end)(ProctorInstance *instance, struct ProctorError *error);
} ProctorInstanceThread;

/* Tokens of one sample that have come. */
typedef struct ProctorTokenReport {
  /* Identity of the issued sample: ProctorQuerySample.id or ProctorBatchSample.id. */
  uint64_t id;
  /* Number of tokens that have come since the report before; at least 1. */
  uint32_t token_count;
  /* Zero. */
  uint32_t reserved;
} ProctorTokenReport;

/* Tokens that have come at one instant. Owned by the plugin, valid for the duration of the call. */
typedef struct ProctorTokens {
  /* Size of this structure in bytes, as the plugin was compiled. */
  size_t size;
  /* The reports, at most one for each sample. */
  const struct ProctorTokenReport *reports;
  /* Number of elements of `reports`; at most PROCTOR_RESPONSE_COUNT_MAX. */
  size_t report_count;
  /* Distance of two elements of `reports` in bytes. */
  size_t report_stride;
} ProctorTokens;

/*
 * The host takes the tokens of a sample as they come, asked for by ProctorHost.extension. Valid to the end of the
 * process.
 *
 * The first report of a sample is its first token, too, unless that came by ProctorHost.first_token, which counts as
 * one token and alone takes bytes for the accuracy log. A sample of which tokens were reported has to be completed
 * with as many, or the run is INVALID. Outside of token runs reports are checked, and nothing is kept of them.
 */
typedef struct ProctorTokensHost {
  /* Size of this structure in bytes, as the host was compiled. */
  size_t size;
  /*
   * Reports tokens of issued or executing samples, all at the instant of the call, and before the completion of each
   * sample. Calls about one sample come one after the other. `context` is ProctorHost.context. Wait-free.
   * [any thread]
   */
  void (*tokens)(void *context, const struct ProctorTokens *tokens);
} ProctorTokensHost;

/* The ABI is for machines of 64 bits, without packed structures. */
#define PROCTOR_ASSERT(name, condition) typedef char proctor_assert_##name[(condition) ? 1 : -1]
PROCTOR_ASSERT(pointer, sizeof(void *) == 8);
PROCTOR_ASSERT(ProctorString, sizeof(ProctorString) == 16);
PROCTOR_ASSERT(ProctorError, sizeof(ProctorError) == 40);
PROCTOR_ASSERT(ProctorModelSupport, sizeof(ProctorModelSupport) == 88);
PROCTOR_ASSERT(ProctorOptionSpec, sizeof(ProctorOptionSpec) == 96);
PROCTOR_ASSERT(ProctorManifest, sizeof(ProctorManifest) == 144);
PROCTOR_ASSERT(ProctorOptionValue, sizeof(ProctorOptionValue) == 56);
PROCTOR_ASSERT(ProctorTensorSpec, sizeof(ProctorTensorSpec) == 32);
PROCTOR_ASSERT(ProctorFile, sizeof(ProctorFile) == 32);
PROCTOR_ASSERT(ProctorOpenRequest, sizeof(ProctorOpenRequest) == 40);
PROCTOR_ASSERT(ProctorModelRequest, sizeof(ProctorModelRequest) == 208);
PROCTOR_ASSERT(ProctorPlacement, sizeof(ProctorPlacement) == 40);
PROCTOR_ASSERT(ProctorTensor, sizeof(ProctorTensor) == 32);
PROCTOR_ASSERT(ProctorPreparedSample, sizeof(ProctorPreparedSample) == 24);
PROCTOR_ASSERT(ProctorSampleSet, sizeof(ProctorSampleSet) == 64);
PROCTOR_ASSERT(ProctorMemoryRange, sizeof(ProctorMemoryRange) == 24);
PROCTOR_ASSERT(ProctorOutput, sizeof(ProctorOutput) == 48);
PROCTOR_ASSERT(ProctorBatchSample, sizeof(ProctorBatchSample) == 80);
PROCTOR_ASSERT(ProctorStage, sizeof(ProctorStage) == 32);
PROCTOR_ASSERT(ProctorBatch, sizeof(ProctorBatch) == 80);
PROCTOR_ASSERT(ProctorQuerySample, sizeof(ProctorQuerySample) == 16);
PROCTOR_ASSERT(ProctorQuery, sizeof(ProctorQuery) == 48);
PROCTOR_ASSERT(ProctorResponse, sizeof(ProctorResponse) == 56);
PROCTOR_ASSERT(ProctorResponses, sizeof(ProctorResponses) == 56);
PROCTOR_ASSERT(ProctorMetric, sizeof(ProctorMetric) == 56);
PROCTOR_ASSERT(ProctorProgress, sizeof(ProctorProgress) == 40);
PROCTOR_ASSERT(ProctorHost, sizeof(ProctorHost) == 104);
PROCTOR_ASSERT(ProctorVersionRange, sizeof(ProctorVersionRange) == 24);
PROCTOR_ASSERT(ProctorPlugin, sizeof(ProctorPlugin) == 136);
PROCTOR_ASSERT(ProctorIssue, sizeof(ProctorIssue) == 24);
PROCTOR_ASSERT(ProctorVirtualTime, sizeof(ProctorVirtualTime) == 16);
PROCTOR_ASSERT(ProctorTextSink, sizeof(ProctorTextSink) == 24);
PROCTOR_ASSERT(ProctorExplain, sizeof(ProctorExplain) == 16);
PROCTOR_ASSERT(ProctorInstanceThread, sizeof(ProctorInstanceThread) == 24);
PROCTOR_ASSERT(ProctorLiveInstances, sizeof(ProctorLiveInstances) == 24);
PROCTOR_ASSERT(ProctorAllocation, sizeof(ProctorAllocation) == 40);
PROCTOR_ASSERT(ProctorMemory, sizeof(ProctorMemory) == 32);
PROCTOR_ASSERT(ProctorDevice, sizeof(ProctorDevice) == 56);
PROCTOR_ASSERT(ProctorDeviceSink, sizeof(ProctorDeviceSink) == 24);
PROCTOR_ASSERT(ProctorDevices, sizeof(ProctorDevices) == 24);
PROCTOR_ASSERT(ProctorSubmit, sizeof(ProctorSubmit) == 24);
PROCTOR_ASSERT(ProctorDone, sizeof(ProctorDone) == 48);
PROCTOR_ASSERT(ProctorSubmitHost, sizeof(ProctorSubmitHost) == 16);
PROCTOR_ASSERT(ProctorEnergy, sizeof(ProctorEnergy) == 16);
PROCTOR_ASSERT(ProctorInputForm, sizeof(ProctorInputForm) == 24);
PROCTOR_ASSERT(ProctorInputForms, sizeof(ProctorInputForms) == 16);
PROCTOR_ASSERT(ProctorTokenReport, sizeof(ProctorTokenReport) == 16);
PROCTOR_ASSERT(ProctorTokens, sizeof(ProctorTokens) == 32);
PROCTOR_ASSERT(ProctorTokensHost, sizeof(ProctorTokensHost) == 16);
#ifdef __cplusplus
extern "C" {
#endif

/* The function that a plugin exports. */
#if defined(_WIN32)
__declspec(dllexport)
#elif defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const ProctorPlugin *proctor_plugin_entry(const ProctorVersionRange *speaks, ProctorError *refusal);

#ifdef __cplusplus
}
#endif

#endif /* PROCTOR_PLUGIN_H */
