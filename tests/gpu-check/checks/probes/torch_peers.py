"""Times a model in PyTorch on the GPU: torch_peers.py MODEL PRECISION BATCH; prints JSON.

Weights and inputs are random and lie on the device, so that what is timed is computation alone.
"""

import json
import sys
import time

SECONDS = 3.0
LAYERS, WIDTH, HEADS, WORDS = 12, 768, 12, 384
STACK_LAYERS, STACK_UNITS, STACK_STEPS = 3, 512, 50


def resnet50(torch):
    """ResNet-50 v1.5: the stride of a block is that of its 3x3 convolution."""
    nn = torch.nn

    def unit(inputs, outputs, size, stride=1):
        return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))

    class Block(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            outputs = 4 * width
            self.reduce, self.middle = unit(inputs, width, 1), unit(width, width, 3, stride)
            self.expand = unit(width, outputs, 1)
            same = inputs == outputs and stride == 1
            self.shortcut = nn.Identity() if same else unit(inputs, outputs, 1, stride)

        def forward(self, x):
            y = torch.relu(self.middle(torch.relu(self.reduce(x))))
            return torch.relu(self.expand(y) + self.shortcut(x))

    layers, inputs = [unit(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(count):
            layers.append(Block(inputs, width, stride if number == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def build(torch, name, batch):
    """A model with an input for it."""
    if name == "resnet50":
        return resnet50(torch), torch.randn(batch, 3, 224, 224)
    if name == "bert-base":
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True)
        return torch.nn.TransformerEncoder(layer, LAYERS), torch.randn(batch, WORDS, WIDTH)
    cell = {"lstm-stack": torch.nn.LSTM, "gru-stack": torch.nn.GRU}[name]
    return cell(STACK_UNITS, STACK_UNITS, STACK_LAYERS, batch_first=True), torch.randn(batch, STACK_STEPS, STACK_UNITS)


def main(name, precision, batch):
    import torch

    if not torch.cuda.is_available():
        return {"missing": "this torch has no device of CUDA"}
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    # Ours computes f32 in f32.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model, inputs = build(torch, name, batch)
    kind = {"f32": torch.float32, "f16": torch.float16}[precision]
    model, inputs = model.eval().to("cuda", kind), inputs.to("cuda", kind)
    if name == "resnet50":
        model, inputs = model.to(memory_format=torch.channels_last), inputs.to(memory_format=torch.channels_last)
    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(10):
                model(inputs)
        torch.cuda.current_stream().wait_stream(side)
        step, how = lambda: model(inputs), "eager"
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model(inputs)
            step, how = graph.replay, "CUDA graph"
        except RuntimeError as error:
            print(f"no CUDA graph: {error}", file=sys.stderr)
            torch.cuda.synchronize()
        seconds, count = timed(torch, step)
    system = f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {how}"
    return {"system": system, "samples_per_second": batch * count / seconds, "batch_us": seconds / count * 1e6}


def timed(torch, step):
    """Seconds for a number of steps, which last long enough together."""
    count = 5
    while True:
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begun
        if seconds >= SECONDS / 2:
            return seconds, count
        count = int(count * min(SECONDS / max(seconds, 1e-6), 100)) + 1


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
