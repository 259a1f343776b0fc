/*
 * A plugin of Proctor in C++17, over proctor_plugin.h: classes whose destructors end what their constructors began, views
 * of what the host hands over, and exceptions that become a status with a message. Nothing but this header is needed.
 *
 * This plugin is whole, and answers every sample with zeros:
 *
 *     #include "proctor_plugin.hpp"
 *
 *     struct Instance {
 *       void execute(proctor::Batch &batch) {
 *         for (proctor::Sample sample : batch)
 *           for (proctor::Output output : sample.outputs())
 *             std::fill_n(output.whole<std::byte>(), output.capacity_bytes(), std::byte{0});
 *       }
 *     };
 *
 *     struct Model {
 *       std::unique_ptr<Instance> create_instance(const proctor::Placement &) { return std::make_unique<Instance>(); }
 *     };
 *
 *     struct Mine {
 *       static proctor::Manifest manifest() { return {"mine", "1", "MIT"}; }
 *       Mine(proctor::Host, const proctor::Options &) {}
 *       std::unique_ptr<Model> load_model(const proctor::ModelRequest &) { return std::make_unique<Model>(); }
 *     };
 *
 *     PROCTOR_PLUGIN(Mine)
 *
 * Build it:
 *
 *     c++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -I include -o libmine_sut.so mine.cpp
 *     host run --plugin ./libmine_sut.so
 *
 * What a class may have beyond that, and from which the capabilities of the manifest follow:
 *
 *     plugin     static const void *extension(std::string_view id)
 *                                                      the table of another extension of proctor_plugin.h, or null
 *     model      create_instance(const Placement &)    it takes batches: PROCTOR_CAPABILITY_EXECUTE
 *                issue(const Query &)                  it takes whole queries: PROCTOR_CAPABILITY_ISSUE
 *                warm_up(const Query &)                computes the answers to a query, and completes none
 *                static constexpr bool concurrent_issue = true
 *                                                      several threads may be in issue: PROCTOR_CAPABILITY_CONCURRENT_ISSUE
 *                prepare_samples(const SampleSet &), release_samples(), start(), flush(), stop()
 *                explain()                             a std::string: how it will run, and why
 *     instance   warm_up(Batch &)                      runs a batch whose outputs are thrown away
 *
 * A member that has one of these names and is not public, or cannot be called so, does not compile.
 *
 * A function that throws proctor::Error has failed with its status and message; any other exception is
 * PROCTOR_STATUS_PANICKED, but std::bad_alloc is PROCTOR_STATUS_OUT_OF_MEMORY. A destructor that throws ends the process.
 * Order, threads and ownership are those of proctor_plugin.h, whose comments are the reference. A view (Batch, Sample,
 * Query, ModelRequest, ...) is valid for the call that it was handed to, unless its comment says otherwise.
 */

#ifndef PROCTOR_PLUGIN_HPP
#define PROCTOR_PLUGIN_HPP

#include "proctor_plugin.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/* Hidden, so that two libraries of different versions in one process keep their own. */
namespace proctor __attribute__((visibility("hidden"))) {

/* A text of the host. */
inline std::string_view view(ProctorString text) {
  return {reinterpret_cast<const char *>(text.data), text.data == nullptr ? 0 : text.length};
}

/* A text for the host, valid as long as `text`. Null if it is empty. */
inline ProctorString borrowed(std::string_view text) {
  return {text.empty() ? nullptr : reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

/* Why a call has failed, for the user. */
class Error : public std::runtime_error {
public:
  /* `status` is one of the PROCTOR_STATUS constants; `vendor_code` one of the vendor's own, or 0. */
  Error(ProctorStatus status, const std::string &message, std::int64_t vendor_code = 0)
      : std::runtime_error(message), status_(status == PROCTOR_STATUS_OK ? PROCTOR_STATUS_FAILED : status),
        vendor_code_(vendor_code) {}

  ProctorStatus status() const noexcept { return status_; }
  std::int64_t vendor_code() const noexcept { return vendor_code_; }

private:
  ProctorStatus status_;
  std::int64_t vendor_code_;
};

namespace detail {

/* Goes through what has a size and an element at each index, which is a view. */
template <class Range> class Iterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = decltype(std::declval<const Range &>()[0]);
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  Iterator(const Range *range, std::size_t index) : range_(range), index_(index) {}
  value_type operator*() const { return (*range_)[index_]; }
  Iterator &operator++() {
    ++index_;
    return *this;
  }
  bool operator==(const Iterator &other) const { return index_ == other.index_; }
  bool operator!=(const Iterator &other) const { return index_ != other.index_; }

private:
  const Range *range_;
  std::size_t index_;
};

/* The element at `index` of an array whose elements lie `stride` bytes apart. */
template <class Raw> Raw *element(Raw *first, std::size_t index, std::size_t stride) {
  using Byte = std::conditional_t<std::is_const_v<Raw>, const std::byte, std::byte>;
  return reinterpret_cast<Raw *>(reinterpret_cast<Byte *>(first) + index * stride);
}

} // namespace detail

/*
 * An array of the host, whose elements may be larger than this header knows them. `View` is made of a pointer to an
 * element.
 */
template <class Raw, class View> class Elements {
public:
  Elements(Raw *first, std::size_t count, std::size_t stride) : first_(first), count_(count), stride_(stride) {}

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  /* The element at `index`, which has to be below size(). */
  View operator[](std::size_t index) const { return View(detail::element(first_, index, stride_)); }
  auto begin() const { return detail::Iterator<Elements>(this, 0); }
  auto end() const { return detail::Iterator<Elements>(this, count_); }

private:
  Raw *first_;
  std::size_t count_;
  std::size_t stride_;
};

/* An input tensor of a sample. */
class Tensor {
public:
  explicit Tensor(const ProctorTensor *raw) : raw_(raw) {}

  /* The elements, row-major; `T` has the size of one of them. */
  template <class T> const T *data() const noexcept { return static_cast<const T *>(raw_->data); }
  /* Number of elements of type `T`. */
  template <class T> std::size_t size() const noexcept { return raw_->size_bytes / sizeof(T); }
  std::size_t size_bytes() const noexcept { return raw_->size_bytes; }
  /* Number of dimensions. */
  std::size_t rank() const noexcept { return raw_->rank; }
  /* Extent of a dimension, which has to be below rank(). */
  std::uint64_t extent(std::size_t dimension) const noexcept { return raw_->shape[dimension]; }
  /* One of the PROCTOR_ELEMENT constants. */
  std::uint32_t element_type() const noexcept { return raw_->element_type; }

private:
  const ProctorTensor *raw_;
};

/* The input tensors of a sample, in the order of the model request. */
using Tensors = Elements<const ProctorTensor, Tensor>;

/* Where an output tensor of a sample goes: into memory of the host, or it is lent. */
class Output {
public:
  explicit Output(ProctorOutput *raw) : raw_(raw) {}

  /* Room for all elements of the declared shape, which the output then has. */
  template <class T> T *whole() noexcept {
    raw_->size_bytes = raw_->capacity_bytes;
    return static_cast<T *>(raw_->data);
  }
  /* How many bytes fit. */
  std::size_t capacity_bytes() const noexcept { return raw_->capacity_bytes; }
  /* How many bytes the output has. */
  std::size_t size_bytes() const noexcept { return raw_->size_bytes; }
  /* Shortens an output that may vary. */
  void resize_bytes(std::size_t size_bytes) noexcept { raw_->size_bytes = size_bytes; }
  /* Lends memory instead, which the host gives back by `release(context)`. */
  void lend(const void *data, std::size_t size_bytes, void (*release)(void *), void *context) noexcept {
    raw_->lent = data;
    raw_->size_bytes = size_bytes;
    raw_->release = release;
    raw_->context = context;
  }

private:
  ProctorOutput *raw_;
};

/* The output tensors of a sample, in the order of the model request. */
using Outputs = Elements<ProctorOutput, Output>;

/*
 * Room for the texts and stages that the plugin writes about a batch, which the host reads after the call, or, of one
 * that was submitted, when it is done. Any thread may write.
 */
class Room {
public:
  /* That of the calling thread, for one batch after the other. */
  static Room &of_this_thread() {
    thread_local Room room;
    return room;
  }
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_.clear();
    stages_.clear();
  }
  ProctorString keep(const char *text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return borrowed(texts_.emplace_back(text));
  }
  void keep(const ProctorStage &stage, ProctorBatch *batch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stages_.push_back(stage);
    batch->stages = stages_.data();
    batch->stage_count = stages_.size();
    batch->stage_stride = sizeof stage;
  }

private:
  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::vector<ProctorStage> stages_;
};

/* A sample of a batch. */
class Sample {
public:
  Sample(ProctorBatchSample *raw, const ProctorBatch *batch, Room *room) : raw_(raw), batch_(batch), room_(room) {}

  /* Identity of the issued sample, for Host::first_token. */
  std::uint64_t id() const noexcept { return raw_->id; }
  /* Position in the query sample library. */
  std::uint64_t index() const noexcept { return raw_->index; }
  Tensors inputs() const { return {raw_->inputs, raw_->input_count, batch_->input_stride}; }
  Outputs outputs() const { return {raw_->outputs, raw_->output_count, batch_->output_stride}; }
  /* Number of output tokens; 0 where tokens have no meaning. */
  void set_token_count(std::uint32_t count) noexcept { raw_->token_count = count; }
  /* Fails this sample alone. */
  void fail(const Error &error) {
    raw_->status = error.status();
    raw_->message = room_->keep(error.what());
    raw_->vendor_code = error.vendor_code();
  }

private:
  ProctorBatchSample *raw_;
  const ProctorBatch *batch_;
  Room *room_;
};

/* A batch for one instance. */
class Batch {
public:
  /* What is written about the batch stays until the next Batch is made on this thread. */
  explicit Batch(ProctorBatch *raw) : Batch(raw, Room::of_this_thread()) {}
  /* What is written about the batch stays in `room`, which is cleared: for one of several in flight. */
  Batch(ProctorBatch *raw, Room &room) : raw_(raw), room_(&room) { room.clear(); }

  std::size_t size() const noexcept { return raw_->sample_count; }
  /* The sample at `index`, which has to be below size(). */
  Sample operator[](std::size_t index) const {
    return {detail::element(raw_->samples, index, raw_->sample_stride), raw_, room_};
  }
  auto begin() const { return detail::Iterator<Batch>(this, 0); }
  auto end() const { return detail::Iterator<Batch>(this, size()); }
  /*
   * Tells a stage of the work on the batch, after those that were told before, in the time of Host::now_ns. `name` has
   * to live to the end of the process, as a literal does.
   */
  void stage(std::string_view name, std::uint64_t begin_ns, std::uint64_t end_ns) {
    room_->keep({borrowed(name), begin_ns, end_ns}, raw_);
  }

private:
  ProctorBatch *raw_;
  Room *room_;
};

/* A query that is issued, or a part of one. */
class Query {
public:
  explicit Query(const ProctorQuery *raw) : raw_(raw) {}

  /* Number of samples of this part. */
  std::size_t size() const noexcept { return raw_->sample_count; }
  /* The sample at `index`, which has to be below size(). */
  ProctorQuerySample operator[](std::size_t index) const {
    const ProctorQuerySample *raw = detail::element(raw_->samples, index, raw_->sample_stride);
    return {raw->id, raw->index};
  }
  auto begin() const { return detail::Iterator<Query>(this, 0); }
  auto end() const { return detail::Iterator<Query>(this, size()); }
  /* Number of samples of this query that were handed over before. */
  std::uint64_t sample_offset() const noexcept { return raw_->sample_offset; }
  /* Number of samples of the whole query. */
  std::uint64_t total_sample_count() const noexcept { return raw_->total_sample_count; }

private:
  const ProctorQuery *raw_;
};

/* A sample that will be used between prepare_samples and release_samples; valid that long. */
class PreparedSample {
public:
  PreparedSample(const ProctorPreparedSample *raw, const ProctorSampleSet *set) : raw_(raw), set_(set) {}

  /* Position in the query sample library. */
  std::uint64_t index() const noexcept { return raw_->index; }
  Tensors inputs() const { return {raw_->inputs, raw_->input_count, set_->input_stride}; }

private:
  const ProctorPreparedSample *raw_;
  const ProctorSampleSet *set_;
};

/* The samples that will be used next, by ascending index, each once; valid until release_samples. */
class SampleSet {
public:
  explicit SampleSet(const ProctorSampleSet *raw) : raw_(raw) {}

  std::size_t size() const noexcept { return raw_->sample_count; }
  /* The sample at `position`, which has to be below size(). */
  PreparedSample operator[](std::size_t position) const {
    return {detail::element(raw_->samples, position, raw_->sample_stride), raw_};
  }
  auto begin() const { return detail::Iterator<SampleSet>(this, 0); }
  auto end() const { return detail::Iterator<SampleSet>(this, size()); }
  /* The structure itself, with the ranges of memory that the inputs lie in. */
  const ProctorSampleSet &raw() const noexcept { return *raw_; }

private:
  const ProctorSampleSet *raw_;
};

/* Name, type and shape of a tensor of one sample. */
struct TensorSpec {
  explicit TensorSpec(const ProctorTensorSpec *raw)
      : name(view(raw->name)), element_type(raw->element_type) {
    if (raw->shape != nullptr)
      shape.assign(raw->shape, raw->shape + raw->rank);
  }

  /* Number of elements of one sample. */
  std::uint64_t element_count() const {
    std::uint64_t count = 1;
    for (std::uint64_t extent : shape)
      count *= extent;
    return count;
  }

  /* Name as the model knows it. */
  std::string name;
  /* One of the PROCTOR_ELEMENT constants. */
  std::uint32_t element_type;
  /* Extent of each dimension, row-major; empty for a scalar. */
  std::vector<std::uint64_t> shape;
};

/* A file of a model, whose checksum the host has verified. */
struct File {
  explicit File(const ProctorFile *raw) : format(view(raw->format)), path(view(raw->path)) {}

  /* `safetensors`, `onnx`, ... */
  std::string format;
  /* Absolute path. */
  std::string path;
};

/* Which model to load, and how it will be used. What it has may be kept. */
class ModelRequest {
public:
  explicit ModelRequest(const ProctorModelRequest *raw)
      : model(view(raw->model)), precision(view(raw->precision)), device(view(raw->device)),
        files(listed<File>(raw->files, raw->file_count, raw->file_stride)),
        inputs(listed<TensorSpec>(raw->inputs, raw->input_count, raw->tensor_spec_stride)),
        outputs(listed<TensorSpec>(raw->outputs, raw->output_count, raw->tensor_spec_stride)),
        scenario(raw->scenario), batch_size_max(raw->batch_size_max), instance_count(raw->instance_count),
        last_output_varies((raw->flags & PROCTOR_REQUEST_LAST_OUTPUT_VARIES) != 0),
        inputs_vary((raw->flags & PROCTOR_REQUEST_INPUTS_VARY) != 0), raw_(raw) {}

  /* The structure itself, with the intent of the run; valid for the call. */
  const ProctorModelRequest &raw() const noexcept { return *raw_; }

  /* Model id, such as `digits-lstm`. */
  std::string model;
  /* One that the manifest declares. */
  std::string precision;
  /* Kind of device, one that the manifest declares. */
  std::string device;
  std::vector<File> files;
  /* The tensors of one sample that the host hands in, in order. */
  std::vector<TensorSpec> inputs;
  /* The tensors of one sample that the host expects back, in order. */
  std::vector<TensorSpec> outputs;
  /* One of the PROCTOR_SCENARIO bits. */
  std::uint32_t scenario;
  /* Largest batch that will be asked for. */
  std::uint32_t batch_size_max;
  /* Number of instances that will be created; 0 for a model that will be given whole queries. */
  std::uint32_t instance_count;
  /* Whether the last output may have fewer elements than its shape says. */
  bool last_output_varies;
  /* Whether the inputs of a sample may be smaller than their shapes say. */
  bool inputs_vary;

private:
  template <class Listed, class Raw>
  static std::vector<Listed> listed(const Raw *first, std::size_t count, std::size_t stride) {
    const Elements<const Raw, Listed> elements(first, count, stride);
    return {elements.begin(), elements.end()};
  }

  const ProctorModelRequest *raw_;
};

/* Where an instance is to run. What it has may be kept. */
struct Placement {
  explicit Placement(const ProctorPlacement *raw)
      : instance_index(raw->instance_index), instance_count(raw->instance_count), device_index(raw->device_index) {
    if (raw->cpus != nullptr)
      cpus.assign(raw->cpus, raw->cpus + raw->cpu_count);
  }

  /* Number of this instance, counted from 0. */
  std::uint32_t instance_index;
  std::uint32_t instance_count;
  /* Position in the plugin's list of devices. */
  std::uint32_t device_index;
  /* Processors to keep to; empty for any. */
  std::vector<std::uint32_t> cpus;
};

/* The values of the plugin's options, checked by the host against the manifest. */
class Options {
public:
  explicit Options(const ProctorOpenRequest *raw)
      : values_(raw->options, raw->option_count, raw->option_stride) {}

  /* The value of an option, or nothing if it has no default and the user gave none. */
  std::optional<bool> boolean(std::string_view name) const {
    const auto *value = find(name);
    return value == nullptr ? std::nullopt : std::optional<bool>(value->integer != 0);
  }
  std::optional<std::int64_t> integer(std::string_view name) const {
    const auto *value = find(name);
    return value == nullptr ? std::nullopt : std::optional<std::int64_t>(value->integer);
  }
  std::optional<double> number(std::string_view name) const {
    const auto *value = find(name);
    return value == nullptr ? std::nullopt : std::optional<double>(value->number);
  }
  /* The value of a text, a path or a choice. */
  std::optional<std::string> text(std::string_view name) const {
    const auto *value = find(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(view(value->text));
  }

private:
  const ProctorOptionValue *find(std::string_view name) const {
    for (const ProctorOptionValue *value : values_)
      if (view(value->name) == name)
        return value;
    return nullptr;
  }

  Elements<const ProctorOptionValue, const ProctorOptionValue *> values_;
};

/* The services of the host, valid to the end of the process. Every function may be called from any thread. */
class Host {
public:
  explicit Host(const ProctorHost *raw) : raw_(raw) {}

  /* Logs a message; `level` is one of the PROCTOR_LOG constants. Not for the timed path. */
  void log(std::uint32_t level, std::string_view message, std::string_view target = {}) const {
    raw_->log(raw_->context, level, borrowed(target), borrowed(message));
  }
  /* The clock in ns that latencies are measured with. */
  std::uint64_t now_ns() const { return raw_->now_ns(raw_->context); }
  /* Completes issued samples, each exactly once, all at this instant. The data are read before it returns. */
  void complete(const ProctorResponse *responses, std::size_t count) const {
    const ProctorResponses all = gathered(responses, count);
    raw_->complete(raw_->context, &all);
  }
  void complete(const ProctorResponse &response) const { complete(&response, 1); }
  /* Reports first tokens of issued or executing samples. */
  void first_token(const ProctorResponse *responses, std::size_t count) const {
    const ProctorResponses all = gathered(responses, count);
    raw_->first_token(raw_->context, &all);
  }
  /* Adds a figure to the result under a name such as `gpu_power`, with a unit such as `W`. Not for the timed path. */
  void metric(std::string_view name, double value, std::string_view unit = {}) const {
    ProctorMetric metric{};
    metric.size = sizeof metric;
    metric.name = borrowed(name);
    metric.unit = borrowed(unit);
    metric.value = value;
    raw_->metric(raw_->context, &metric);
  }
  /* Says how far a long call has come, so that it is not taken for one that hangs. */
  void progress(std::uint64_t done, std::uint64_t total, std::string_view task) const {
    const ProctorProgress progress{sizeof progress, done, total, borrowed(task)};
    raw_->progress(raw_->context, &progress);
  }
  /* Whether all work is to end soon. */
  bool is_cancelled() const { return raw_->is_cancelled(raw_->context) != 0; }
  /* A folder that outlives the run, if there is one. */
  std::optional<std::string> cache_folder() const {
    const ProctorString folder = raw_->cache_folder(raw_->context);
    return folder.data == nullptr ? std::nullopt : std::optional<std::string>(view(folder));
  }
  /* The table itself, for extensions. */
  const ProctorHost &raw() const noexcept { return *raw_; }

private:
  static ProctorResponses gathered(const ProctorResponse *responses, std::size_t count) {
    ProctorResponses all{};
    all.size = sizeof all;
    all.responses = responses;
    all.response_count = count;
    all.response_stride = sizeof *responses;
    return all;
  }

  const ProctorHost *raw_;
};

/* The answer to an issued sample; the bytes are the output tensors one after the other. */
inline ProctorResponse answer(std::uint64_t id, const void *data, std::size_t size_bytes,
                              std::uint32_t token_count = 0) {
  ProctorResponse response{};
  response.id = id;
  response.data = data;
  response.size_bytes = size_bytes;
  response.token_count = token_count;
  return response;
}

/* The answer to an issued sample that failed; valid as long as `error`. */
inline ProctorResponse failure(std::uint64_t id, const Error &error) {
  ProctorResponse response{};
  response.id = id;
  response.status = error.status();
  response.message = borrowed(error.what());
  response.vendor_code = error.vendor_code();
  return response;
}

/* A row of the list of what a plugin can run. */
struct ModelSupport {
  /* Model id, or the beginning of one and `*`. */
  std::string model = "*";
  /* File format, `none`, or `*` for any. */
  std::string format = "*";
  std::string precision = "f32";
  /* Kind of device: `cpu`, `cuda`, `opencl`, ... */
  std::string device = "cpu";
  /* Set of PROCTOR_SCENARIO bits. */
  std::uint32_t scenarios =
      PROCTOR_SCENARIO_SINGLE_STREAM | PROCTOR_SCENARIO_MULTI_STREAM | PROCTOR_SCENARIO_SERVER | PROCTOR_SCENARIO_OFFLINE;
  /* Largest batch in samples; 0 means no limit. */
  std::uint32_t batch_size_max = 0;
  /* Device memory that one instance needs, in bytes; 0 means not known. */
  std::uint64_t memory_bytes = 0;
};

/* An option that a plugin takes, set by `--set PLUGIN.OPTION=VALUE`. */
struct OptionSpec {
  /* Lower-case letters, digits and underscores. */
  std::string name;
  /* Its effect, in a sentence, with the unit. */
  std::string help = {};
  /* One of the PROCTOR_OPTION constants. */
  std::uint32_t kind = PROCTOR_OPTION_TEXT;
  /* Value if the user gives none, as text; nothing if the option is then left out. */
  std::optional<std::string> default_value = {};
  /* The allowed words of a choice. */
  std::vector<std::string> choices = {};
  /* Range of an integer; any, if both are 0. */
  std::int64_t integer_min = 0, integer_max = 0;
  /* Range of a float; any, if both are 0. */
  double float_min = 0, float_max = 0;
};

/* The description of a plugin and of what it can run. */
struct Manifest {
  /* `name` has lower-case letters, digits and hyphens; `license` is an SPDX expression or `proprietary`. */
  Manifest(std::string name, std::string version, std::string license)
      : name(std::move(name)), version(std::move(version)), license(std::move(license)) {}

  std::string name, version, license;
  /* Who made it, and a sentence on what it is; may be empty. */
  std::string vendor, description;
  /* Models that it can run. If none are given, any in f32 on the CPU. */
  std::vector<ModelSupport> models;
  std::vector<OptionSpec> options;
  /* The system is reached by a network. */
  bool is_network = false;
};

/* The object of the plugin behind a pointer of the ABI, for the table of an extension. */
template <class Plugin> Plugin &of(ProctorBackend *backend) { return *reinterpret_cast<Plugin *>(backend); }
template <class Model> Model &of(ProctorModel *model) { return *reinterpret_cast<Model *>(model); }
template <class Instance> Instance &of(ProctorInstance *instance) { return *reinterpret_cast<Instance *>(instance); }

namespace detail {

/* A manifest with the structures of the ABI that refer to it. */
class Described {
public:
  Described(Manifest manifest, std::uint64_t capabilities) : manifest_(std::move(manifest)) {
    if (manifest_.models.empty())
      manifest_.models.emplace_back();
    for (const ModelSupport &model : manifest_.models)
      models_.push_back({borrowed(model.model), borrowed(model.format), borrowed(model.precision),
                         borrowed(model.device), model.scenarios, model.batch_size_max, 0, model.memory_bytes});
    for (const OptionSpec &option : manifest_.options) {
      std::vector<ProctorString> &words = words_.emplace_back();
      for (const std::string &word : option.choices)
        words.push_back(borrowed(word));
      const bool has_default = option.default_value.has_value();
      // An empty text is a default, too.
      const ProctorString default_value =
          has_default ? ProctorString{reinterpret_cast<const std::uint8_t *>(option.default_value->data()),
                                      option.default_value->size()}
                      : ProctorString{nullptr, 0};
      options_.push_back({borrowed(option.name), borrowed(option.help), default_value, option.kind,
                          static_cast<std::uint32_t>(words.size()), words.empty() ? nullptr : words.data(),
                          option.integer_min, option.integer_max, option.float_min, option.float_max});
    }
    raw_.size = sizeof raw_;
    raw_.name = borrowed(manifest_.name);
    raw_.vendor = borrowed(manifest_.vendor);
    raw_.version = borrowed(manifest_.version);
    raw_.license = borrowed(manifest_.license);
    raw_.description = borrowed(manifest_.description);
    raw_.capabilities = capabilities | (manifest_.is_network ? PROCTOR_CAPABILITY_NETWORK : 0);
    raw_.models = models_.data();
    raw_.model_count = models_.size();
    raw_.model_stride = sizeof(ProctorModelSupport);
    raw_.options = options_.empty() ? nullptr : options_.data();
    raw_.option_count = options_.size();
    raw_.option_stride = sizeof(ProctorOptionSpec);
  }
  Described(const Described &) = delete;
  Described &operator=(const Described &) = delete;

  const ProctorManifest *raw() const noexcept { return &raw_; }

private:
  Manifest manifest_;
  std::deque<std::vector<ProctorString>> words_;
  std::vector<ProctorModelSupport> models_;
  std::vector<ProctorOptionSpec> options_;
  ProctorManifest raw_{};
};

inline ProctorStatus fail(ProctorError *error, ProctorStatus status, std::string_view message,
                          std::int64_t vendor_code = 0) noexcept {
  error->length = std::min(message.size(), error->capacity);
  std::memcpy(error->message, message.data(), error->length);
  error->vendor_code = vendor_code;
  return status;
}

/* Runs `body`, and makes a status of what it throws. */
template <class Body> ProctorStatus guarded(ProctorError *error, Body &&body) noexcept {
  try {
    body();
    return PROCTOR_STATUS_OK;
  } catch (const Error &failure) {
    return fail(error, failure.status(), failure.what(), failure.vendor_code());
  } catch (const std::bad_alloc &) {
    return fail(error, PROCTOR_STATUS_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &exception) {
    return fail(error, PROCTOR_STATUS_PANICKED, exception.what());
  } catch (...) {
    return fail(error, PROCTOR_STATUS_PANICKED, "an exception that is no std::exception");
  }
}

#define PROCTOR_DETAIL_HAS(trait, expression)                                                                          \
  template <class T, class = void> struct trait : std::false_type {};                                                 \
  template <class T> struct trait<T, std::void_t<decltype(expression)>> : std::true_type {}

PROCTOR_DETAIL_HAS(HasExtension, T::extension(std::string_view()));
PROCTOR_DETAIL_HAS(HasCreateInstance, std::declval<T &>().create_instance(std::declval<const Placement &>()));
PROCTOR_DETAIL_HAS(HasIssue, std::declval<T &>().issue(std::declval<const Query &>()));
PROCTOR_DETAIL_HAS(HasWarmUpQuery, std::declval<T &>().warm_up(std::declval<const Query &>()));
PROCTOR_DETAIL_HAS(HasConcurrentIssue, std::bool_constant<T::concurrent_issue>());
PROCTOR_DETAIL_HAS(HasPrepare, std::declval<T &>().prepare_samples(std::declval<const SampleSet &>()));
PROCTOR_DETAIL_HAS(HasRelease, std::declval<T &>().release_samples());
PROCTOR_DETAIL_HAS(HasStart, std::declval<T &>().start());
PROCTOR_DETAIL_HAS(HasFlush, std::declval<T &>().flush());
PROCTOR_DETAIL_HAS(HasStop, std::declval<T &>().stop());
PROCTOR_DETAIL_HAS(HasExplain, std::declval<T &>().explain());
PROCTOR_DETAIL_HAS(HasWarmUpBatch, std::declval<T &>().warm_up(std::declval<Batch &>()));

#undef PROCTOR_DETAIL_HAS

/* Whether a class has a member of a name, whatever it is and whoever may use it: the name is ambiguous then beside
 * another base that has it. Of a class that is final, which can be no base, what is overloaded or private is not seen. */
#define PROCTOR_DETAIL_NAMES(trait, name)                                                                              \
  struct trait##Beside {                                                                                               \
    int name;                                                                                                          \
  };                                                                                                                   \
  template <class T> struct trait##Both : T, trait##Beside {};                                                         \
  template <class T, bool can_be_base, class = void> struct trait##In : std::bool_constant<can_be_base> {};            \
  template <class T> struct trait##In<T, true, std::void_t<decltype(&trait##Both<T>::name)>> : std::false_type {};     \
  template <class T> struct trait##In<T, false, std::void_t<decltype(&T::name)>> : std::true_type {};                  \
  template <class T> struct trait : trait##In<T, std::is_class_v<T> && !std::is_final_v<T>> {}

PROCTOR_DETAIL_NAMES(NamesExtension, extension);
PROCTOR_DETAIL_NAMES(NamesCreateInstance, create_instance);
PROCTOR_DETAIL_NAMES(NamesIssue, issue);
PROCTOR_DETAIL_NAMES(NamesWarmUp, warm_up);
PROCTOR_DETAIL_NAMES(NamesConcurrentIssue, concurrent_issue);
PROCTOR_DETAIL_NAMES(NamesPrepare, prepare_samples);
PROCTOR_DETAIL_NAMES(NamesRelease, release_samples);
PROCTOR_DETAIL_NAMES(NamesStart, start);
PROCTOR_DETAIL_NAMES(NamesFlush, flush);
PROCTOR_DETAIL_NAMES(NamesStop, stop);
PROCTOR_DETAIL_NAMES(NamesExplain, explain);

#undef PROCTOR_DETAIL_NAMES

template <class T, class = void> struct InstanceOf {
  using Type = void;
};
template <class T>
struct InstanceOf<T, std::void_t<decltype(std::declval<T &>().create_instance(std::declval<const Placement &>()))>> {
  using Type = typename decltype(std::declval<T &>().create_instance(std::declval<const Placement &>()))::element_type;
};

/* The table of a plugin in C++. */
template <class Plugin> struct Table {
  using Model = typename decltype(std::declval<Plugin &>().load_model(
      std::declval<const ModelRequest &>()))::element_type;
  using Instance = typename InstanceOf<Model>::Type;

  static constexpr bool takes_batches = HasCreateInstance<Model>::value;
  static constexpr bool takes_queries = HasIssue<Model>::value;
  /* What has the name of an optional function and cannot be called as one would be left out without a word. */
  static_assert(!NamesExtension<Plugin>::value || HasExtension<Plugin>::value,
                "the plugin's extension is not a public static function of a std::string_view");
  static_assert(takes_batches || !NamesCreateInstance<Model>::value,
                "the model's create_instance is not a public function of a const proctor::Placement &");
  static_assert(takes_queries || !NamesIssue<Model>::value,
                "the model's issue is not a public function of a const proctor::Query &");
  static_assert(takes_batches || takes_queries, "the model has neither create_instance nor issue");
  static_assert(!takes_queries || !NamesWarmUp<Model>::value || HasWarmUpQuery<Model>::value,
                "the model's warm_up is not a public function of a const proctor::Query &");
  static_assert(!takes_batches || !NamesWarmUp<Instance>::value || HasWarmUpBatch<Instance>::value,
                "the instance's warm_up is not a public function of a proctor::Batch &");
  static_assert(!NamesConcurrentIssue<Model>::value || HasConcurrentIssue<Model>::value,
                "the model's concurrent_issue is not a public static constexpr bool");
  static_assert(!NamesPrepare<Model>::value || HasPrepare<Model>::value,
                "the model's prepare_samples is not a public function of a const proctor::SampleSet &");
  static_assert(!NamesRelease<Model>::value || HasRelease<Model>::value,
                "the model's release_samples is not a public function without arguments");
  static_assert(!NamesStart<Model>::value || HasStart<Model>::value,
                "the model's start is not a public function without arguments");
  static_assert(!NamesFlush<Model>::value || HasFlush<Model>::value,
                "the model's flush is not a public function without arguments");
  static_assert(!NamesStop<Model>::value || HasStop<Model>::value,
                "the model's stop is not a public function without arguments");
  static_assert(!NamesExplain<Model>::value || HasExplain<Model>::value,
                "the model's explain is not a public function without arguments");

  static std::uint64_t capabilities() {
    std::uint64_t all = takes_batches ? PROCTOR_CAPABILITY_EXECUTE : 0;
    if constexpr (takes_queries) {
      all |= PROCTOR_CAPABILITY_ISSUE;
      if constexpr (HasConcurrentIssue<Model>::value)
        all |= Model::concurrent_issue ? PROCTOR_CAPABILITY_CONCURRENT_ISSUE : 0;
    }
    if constexpr (HasExtension<Plugin>::value)
      all |= Plugin::extension(PROCTOR_EXTENSION_VIRTUAL_TIME) != nullptr ? PROCTOR_CAPABILITY_VIRTUAL_TIME : 0;
    return all;
  }

  static const ProctorManifest *describe() {
    try {
      static const Described described(Plugin::manifest(), capabilities());
      return described.raw();
    } catch (...) {
      return nullptr;
    }
  }

  static ProctorStatus open(const ProctorOpenRequest *request, ProctorBackend **backend, ProctorError *error) {
    return guarded(error, [&] {
      auto plugin = std::make_unique<Plugin>(Host(request->host), Options(request));
      *backend = reinterpret_cast<ProctorBackend *>(plugin.release());
    });
  }

  static ProctorStatus load_model(ProctorBackend *backend, const ProctorModelRequest *request, ProctorModel **model,
                                  ProctorError *error) {
    return guarded(error, [&] {
      auto loaded = of<Plugin>(backend).load_model(ModelRequest(request));
      *model = reinterpret_cast<ProctorModel *>(loaded.release());
    });
  }

  static ProctorStatus create_instance(ProctorModel *model, const ProctorPlacement *placement,
                                       ProctorInstance **instance, ProctorError *error) {
    return guarded(error, [&] {
      auto created = of<Model>(model).create_instance(Placement(placement));
      *instance = reinterpret_cast<ProctorInstance *>(created.release());
    });
  }

  /* Runs `act` with the instance and the batch, with room for what they say. */
  template <class Act>
  static ProctorStatus with_batch(ProctorInstance *instance, ProctorBatch *raw, ProctorError *error, Act &&act) {
    return guarded(error, [&] {
      Batch batch(raw);
      act(of<Instance>(instance), batch);
    });
  }

  static ProctorStatus execute(ProctorInstance *instance, ProctorBatch *raw, ProctorError *error) {
    return with_batch(instance, raw, error, [](auto &instance, Batch &batch) { instance.execute(batch); });
  }

  static ProctorStatus warm_up(ProctorInstance *instance, ProctorBatch *raw, ProctorError *error) {
    return with_batch(instance, raw, error, [](auto &instance, Batch &batch) { instance.warm_up(batch); });
  }

  static ProctorStatus destroy_instance(ProctorInstance *instance, ProctorError *error) {
    return guarded(error, [&] { delete reinterpret_cast<Instance *>(instance); });
  }

  static ProctorStatus prepare_samples(ProctorModel *model, const ProctorSampleSet *samples, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).prepare_samples(SampleSet(samples)); });
  }

  static ProctorStatus release_samples(ProctorModel *model, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).release_samples(); });
  }

  static ProctorStatus start(ProctorModel *model, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).start(); });
  }

  static ProctorStatus flush(ProctorModel *model, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).flush(); });
  }

  static ProctorStatus stop(ProctorModel *model, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).stop(); });
  }

  static ProctorStatus unload_model(ProctorModel *model, ProctorError *error) {
    return guarded(error, [&] { delete &of<Model>(model); });
  }

  static ProctorStatus close(ProctorBackend *backend, ProctorError *error) {
    return guarded(error, [&] { delete reinterpret_cast<Plugin *>(backend); });
  }

  static ProctorStatus issue(ProctorModel *model, const ProctorQuery *query, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).issue(Query(query)); });
  }

  static ProctorStatus warm_up_query(ProctorModel *model, const ProctorQuery *query, ProctorError *error) {
    return guarded(error, [&] { of<Model>(model).warm_up(Query(query)); });
  }

  static ProctorStatus explain(ProctorModel *model, const ProctorTextSink *sink, ProctorError *error) {
    return guarded(error, [&] {
      const std::string text = of<Model>(model).explain();
      sink->write(sink->context, borrowed(text));
    });
  }

  static const void *extension(ProctorString id) {
    if constexpr (takes_queries) {
      static const ProctorIssue table = [] {
        ProctorIssue table{};
        table.size = sizeof table;
        table.issue = issue;
        if constexpr (HasWarmUpQuery<Model>::value)
          table.warm_up = warm_up_query;
        return table;
      }();
      if (view(id) == PROCTOR_EXTENSION_ISSUE)
        return &table;
    }
    if constexpr (HasExplain<Model>::value) {
      static const ProctorExplain table{sizeof table, explain};
      if (view(id) == PROCTOR_EXTENSION_EXPLAIN)
        return &table;
    }
    if constexpr (HasExtension<Plugin>::value) {
      try {
        return Plugin::extension(view(id));
      } catch (...) {
        return nullptr;
      }
    }
    (void)id;
    return nullptr;
  }

  static const ProctorPlugin *entry(const ProctorVersionRange *speaks, ProctorError *refusal) {
    if (speaks->major_min > PROCTOR_ABI_MAJOR || speaks->major_max < PROCTOR_ABI_MAJOR) {
      fail(refusal, PROCTOR_STATUS_UNSUPPORTED, "this plugin follows ABI 1, which the host does not speak");
      return nullptr;
    }
    static const ProctorPlugin plugin = [] {
      ProctorPlugin table{};
      table.size = sizeof table;
      table.abi_major = PROCTOR_ABI_MAJOR;
      table.abi_minor = PROCTOR_ABI_MINOR;
      table.describe = describe;
      table.open = open;
      table.load_model = load_model;
      if constexpr (takes_batches) {
        table.create_instance = create_instance;
        table.execute = execute;
        table.destroy_instance = destroy_instance;
        if constexpr (HasWarmUpBatch<Instance>::value)
          table.warm_up = warm_up;
      }
      if constexpr (HasPrepare<Model>::value)
        table.prepare_samples = prepare_samples;
      if constexpr (HasRelease<Model>::value)
        table.release_samples = release_samples;
      if constexpr (HasStart<Model>::value)
        table.start = start;
      if constexpr (HasFlush<Model>::value)
        table.flush = flush;
      if constexpr (HasStop<Model>::value)
        table.stop = stop;
      table.unload_model = unload_model;
      table.close = close;
      table.extension = extension;
      return table;
    }();
    return &plugin;
  }
};

} // namespace detail
} // namespace proctor

/* Exports the class as the plugin of this library. Once in a library, outside of any namespace. */
#define PROCTOR_PLUGIN(Plugin)                                                                                         \
  extern "C" __attribute__((visibility("default"))) const ProctorPlugin *proctor_plugin_entry(                         \
      const ProctorVersionRange *speaks, ProctorError *refusal) {                                                      \
    return ::proctor::detail::Table<Plugin>::entry(speaks, refusal);                                                   \
  }

#endif
