// The plugin @NAME@: classifies handwritten digits.
//
// Start here: put your own model into network.hpp. proctor_plugin.hpp says what else a class may have, and
// proctor_plugin.h on which thread each function is called.

#include "network.hpp"
#include "proctor_plugin.hpp"

namespace {

// One copy of the model; here all share the weights, which nothing changes.
class Instance {
public:
  explicit Instance(const Network &network) : network_(network) {}

  void execute(proctor::Batch &batch) {
    for (proctor::Sample sample : batch)
      network_.classify(sample.inputs()[0].data<float>(), sample.outputs()[0].whole<float>());
  }

private:
  const Network &network_;
};

class Model {
public:
  explicit Model(const std::string &path) : network_(path) {}

  std::unique_ptr<Instance> create_instance(const proctor::Placement &) {
    return std::make_unique<Instance>(network_);
  }

private:
  Network network_;
};

class Plugin {
public:
  static proctor::Manifest manifest() {
    proctor::Manifest manifest("@NAME@", "0.1.0", "proprietary");
    manifest.description = "Classifies digits.";
    proctor::ModelSupport digits;
    digits.model = "digits-mlp";
    digits.format = "safetensors";
    manifest.models = {digits};
    return manifest;
  }

  // Opens the device; this plugin has none.
  Plugin(proctor::Host, const proctor::Options &) {}

  std::unique_ptr<Model> load_model(const proctor::ModelRequest &request) {
    if (request.files.empty() || request.files[0].format != "safetensors")
      throw proctor::Error(PROCTOR_STATUS_UNSUPPORTED, "there is no safetensors file for this model");
    try {
      return std::make_unique<Model>(request.files[0].path);
    } catch (const std::runtime_error &error) {
      throw proctor::Error(PROCTOR_STATUS_FAILED, error.what());
    }
  }
};

} // namespace

PROCTOR_PLUGIN(Plugin)
