// The model: a network of three layers, read from a file of safetensors. Put your own here.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

// A file of safetensors: a length of eight bytes, JSON that says where each tensor lies, and the tensors.
class TensorFile {
public:
  explicit TensorFile(const std::string &path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    std::uint64_t header_size = 0;
    if (!file || bytes_.size() < sizeof header_size)
      throw std::runtime_error("cannot read " + path);
    std::memcpy(&header_size, bytes_.data(), sizeof header_size);
    if (header_size > bytes_.size() - sizeof header_size)
      throw std::runtime_error(path + " is cut off");
    header_ = bytes_.substr(sizeof header_size, header_size);
    data_ = sizeof header_size + header_size;
  }

  // A tensor of `count` floats.
  std::vector<float> tensor(const std::string &name, std::size_t count) const {
    const std::size_t entry = header_.find("\"" + name + "\":{\"dtype\":\"F32\"");
    const std::string key = "\"data_offsets\":[";
    const std::size_t offsets = header_.find(key, entry);
    if (entry != std::string::npos && offsets != std::string::npos) {
      const std::size_t begin = std::stoull(header_.substr(offsets + key.size()));
      const std::size_t end = std::stoull(header_.substr(header_.find(',', offsets + key.size()) + 1));
      if (begin <= end && end <= bytes_.size() - data_ && end - begin == count * sizeof(float)) {
        std::vector<float> tensor(count);
        std::memcpy(tensor.data(), bytes_.data() + data_ + begin, end - begin);
        return tensor;
      }
    }
    throw std::runtime_error(path_ + " has no " + name + " in f32 of the right size");
  }

private:
  std::string path_, bytes_, header_;
  std::size_t data_ = 0;
};

// outputs = weight * inputs + bias; the weight is row-major, with a row for each output.
struct Layer {
  std::vector<float> weight, bias;
};

class Network {
public:
  explicit Network(const std::string &path) {
    const TensorFile file(path);
    for (std::size_t i = 0; i < layers_.size(); i++) {
      const std::string name = "fc" + std::to_string(i + 1);
      layers_[i] = {file.tensor(name + ".weight", WIDTHS[i] * WIDTHS[i + 1]),
                    file.tensor(name + ".bias", WIDTHS[i + 1])};
    }
  }

  void classify(const float *pixels, float *logits) const {
    std::array<float, 128> hidden[2];
    const float *inputs = pixels;
    for (std::size_t i = 0; i < layers_.size(); i++) {
      const bool is_last = i + 1 == layers_.size();
      float *outputs = is_last ? logits : hidden[i].data();
      const float *weight = layers_[i].weight.data();
      for (std::size_t row = 0; row < WIDTHS[i + 1]; row++) {
        float sum = layers_[i].bias[row];
        for (std::size_t column = 0; column < WIDTHS[i]; column++)
          sum += *weight++ * inputs[column];
        outputs[row] = is_last ? sum : std::max(sum, 0.0f);
      }
      inputs = outputs;
    }
  }

private:
  static constexpr std::size_t WIDTHS[] = {64, 128, 64, 10};

  std::array<Layer, 3> layers_;
};
