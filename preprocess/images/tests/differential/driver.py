"""Makes random pictures, and what OpenCV, Pillow and NumPy make of them: one JSON object a line on standard input, and for each
a line of JSON on standard output, followed by blocks of bytes of the lengths that the line says.

A request is {"kind": "decode" | "resize" | "pipeline", "seed": a number}.

Usage: driver.py FOLDER_OF_THE_PACKAGES
"""

import io
import json
import sys

sys.path.insert(0, sys.argv[1])
import cv2  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

cv2.setNumThreads(1)

SAMPLINGS = [
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
]


def side(rng):
    """A length: often small, sometimes a multiple of a block."""
    kind = rng.integers(4)
    if kind == 0:
        return int(rng.integers(1, 20))
    if kind == 1:
        return int(rng.integers(1, 20)) * 8
    return int(rng.integers(1, 300))


def pixels(rng, height, width, channels):
    """Soft shapes with noise, or noise alone, or one colour."""
    kind = rng.integers(4)
    if kind == 0:
        return np.full((height, width, channels), rng.integers(0, 256, channels), np.uint8)
    if kind == 1:
        return rng.integers(0, 256, (height, width, channels), np.uint8)
    coarse = rng.integers(0, 256, (height // 16 + 2, width // 16 + 2, channels), np.uint8)
    soft = np.stack([cv2.resize(coarse[:, :, c], (width, height), interpolation=cv2.INTER_CUBIC) for c in range(channels)], 2)
    noise = rng.normal(0, rng.integers(1, 30), (height, width, channels))
    return np.clip(soft + noise, 0, 255).astype(np.uint8)


def jpeg(rng, modes):
    """A JPEG file of one of these modes of Pillow's."""
    mode = modes[rng.integers(len(modes))]
    channels = {"L": 1, "RGB": 3, "CMYK": 4}[mode]
    array = pixels(rng, side(rng), side(rng), channels)
    quality = int(rng.integers(1, 101))
    if mode == "RGB" and rng.integers(2):
        options = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, SAMPLINGS[rng.integers(5)]]
        options += [cv2.IMWRITE_JPEG_PROGRESSIVE, int(rng.integers(2)), cv2.IMWRITE_JPEG_OPTIMIZE, int(rng.integers(2))]
        options += [cv2.IMWRITE_JPEG_RST_INTERVAL, int(rng.integers(3))]
        return cv2.imencode(".jpg", array, options)[1].tobytes()
    image = Image.fromarray(array[:, :, 0] if channels == 1 else array, mode)
    options = {"quality": quality, "progressive": bool(rng.integers(2)), "optimize": bool(rng.integers(2))}
    if mode == "RGB":
        options["subsampling"] = int(rng.integers(3))
    if rng.integers(3) == 0:
        options["restart_marker_blocks"] = int(rng.integers(1, 9))
    exif = Image.Exif()
    if rng.integers(2):
        exif[0x0112] = int(rng.integers(1, 9))
        options["exif"] = exif
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def decoded(file):
    """Upright pixels, red first."""
    image = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR)
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def decode_case(rng):
    file = jpeg(rng, ["L", "RGB", "RGB", "RGB", "CMYK"])
    image = decoded(file)
    return {"height": image.shape[0], "width": image.shape[1]}, [file, image.tobytes()]


def resize_case(rng):
    height, width = side(rng), side(rng)
    kind = rng.integers(4)
    if kind == 0:
        factor_y, factor_x = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        to_height, to_width = height, width
        height, width = height * factor_y, width * factor_x
    else:
        to_height, to_width = side(rng), side(rng)
    image = pixels(rng, height, width, 3)
    size = (to_width, to_height)
    area = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    linear = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    antialiased = np.asarray(Image.fromarray(image).resize(size, Image.BILINEAR))
    facts = {"height": height, "width": width, "to_height": to_height, "to_width": to_width}
    return facts, [image.tobytes(), area.tobytes(), linear.tobytes(), antialiased.tobytes()]


def with_aspect(image, size, interpolation):
    """The short side to 8/7 of a size, and the centre of that size."""
    short = int(100.0 * size / 87.5)
    height, width, _ = image.shape
    if height > width:
        width, height = short, int(short * height / width)
    else:
        width, height = int(short * width / height), short
    image = cv2.resize(image, (width, height), interpolation=interpolation)
    left, top = int((width - size) / 2), int((height - size) / 2)
    return image[top : top + size, left : left + size]


def imagenet_vgg(image, height, width):
    image = with_aspect(image, height, cv2.INTER_AREA).astype("float32")
    image -= np.array([123.68, 116.78, 103.94], dtype=np.float32)
    return image


def imagenet_mobilenet(image, height, width):
    image = with_aspect(image, height, cv2.INTER_LINEAR).astype("float32")
    image /= 255.0
    image -= 0.5
    image *= 2
    return image


def imagenet_tflite(image, height, width):
    image = with_aspect(image, height, cv2.INTER_LINEAR).astype("float32")[:, :, ::-1]
    return image - np.array([103.939, 116.779, 123.68], dtype=np.float32)


def imagenet_torchvision(image, height, width):
    """As torchvision's resize, center_crop, to_tensor and normalize do it."""
    short = int(100.0 * height / 87.5)
    image = Image.fromarray(image)
    if image.width <= image.height:
        size = (short, int(short * image.height / image.width))
    else:
        size = (int(short * image.width / image.height), short)
    if size != image.size:
        image = image.resize(size, Image.BILINEAR)
    left, top = int(round((image.width - height) / 2.0)), int(round((image.height - height) / 2.0))
    image = np.asarray(image.crop((left, top, left + height, top + height))).astype("float32") / np.float32(255)
    mean, std = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
    return (image - mean) / std


def resized(image, height, width):
    return cv2.resize(np.asarray(image, dtype=np.float32), (width, height), interpolation=cv2.INTER_LINEAR)


def ssd_mobilenet(image, height, width):
    return resized(image, height, width).astype(np.uint8)


def ssd_mobilenet_pytorch(image, height, width):
    image = resized(image, height, width)
    image -= 127.5
    image /= 127.5
    return image


def ssd_resnet34(image, height, width):
    image = resized(image, height, width) / np.float32(255)
    mean, std = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
    return (image - mean) / std


def ssd_resnet34_tf(image, height, width):
    return resized(image, height, width) - np.array([123.68, 116.78, 103.94], dtype=np.float32)


def retinanet(image, height, width):
    return resized(image, height, width) / np.float32(255)


PIPELINES = {
    "imagenet-vgg": imagenet_vgg,
    "imagenet-mobilenet": imagenet_mobilenet,
    "imagenet-torchvision": imagenet_torchvision,
    "imagenet-tflite": imagenet_tflite,
    "coco-ssd-mobilenet": ssd_mobilenet,
    "coco-ssd-mobilenet-pytorch": ssd_mobilenet_pytorch,
    "coco-ssd-resnet34": ssd_resnet34,
    "coco-ssd-resnet34-tf": ssd_resnet34_tf,
    "open-images-retinanet": retinanet,
}


def pipeline_case(rng):
    name = list(PIPELINES)[rng.integers(len(PIPELINES))]
    file = jpeg(rng, ["L", "RGB", "RGB", "RGB"])
    height, width = int(rng.integers(7, 200)), int(rng.integers(7, 200))
    if name.startswith("imagenet"):
        width = height
    is_own = bool(rng.integers(2))
    cv2.ipp.setUseIPP(not is_own)
    tensor = PIPELINES[name](decoded(file), height, width).transpose(2, 0, 1)
    facts = {"name": name, "height": height, "width": width, "is_own": is_own}
    return facts, [file, np.ascontiguousarray(tensor).tobytes()]


CASES = {"decode": decode_case, "resize": resize_case, "pipeline": pipeline_case}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        rng = np.random.default_rng(request["seed"])
        facts, blocks = CASES[request["kind"]](rng)
        facts["lengths"] = [len(block) for block in blocks]
        sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n" + b"".join(blocks))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
