"""Makes random pictures, and what OpenCV, Pillow and NumPy make of them: one JSON object a line on standard input, and for each
a line of JSON on standard output, followed by blocks of bytes of the lengths that the line says.

A request is {"kind": "decode" | "resize" | "pipeline" | "steps", "seed": a number}.

Usage: driver.py FOLDER_OF_THE_PACKAGES
"""

import io
import json
import sys

sys.path.insert(0, sys.argv[1])
import cv2  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402
from references import METHODS, PIPELINES, decoded, steps  # noqa: E402

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
    cubic = np.asarray(Image.fromarray(image).resize(size, Image.BICUBIC))
    facts = {"height": height, "width": width, "to_height": to_height, "to_width": to_width}
    return facts, [image.tobytes(), area.tobytes(), linear.tobytes(), antialiased.tobytes(), cubic.tobytes()]


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


def steps_case(rng):
    """Steps of a definition's own, with an input that they fit."""
    file = jpeg(rng, ["L", "RGB", "RGB", "RGB"])
    height, width = int(rng.integers(7, 200)), int(rng.integers(7, 200))
    table = {"resize": METHODS[rng.integers(len(METHODS))], "channels": ["rgb", "bgr"][rng.integers(2)]}
    if table["resize"] != "opencv-linear-f32" and rng.integers(3):
        table["short_side"] = max(height, width) + int(rng.integers(0, 60))
    is_bytes = rng.integers(4) == 0
    exact = rng.integers(1, 100, 6) / 100
    table["scale"] = 1.0 if is_bytes else [1.0, 255.0, 127.5][rng.integers(3)]
    table["mean"] = [0.0] * 3 if is_bytes else [float(number) for number in exact[:3]]
    table["deviation"] = [1.0] * 3 if is_bytes or rng.integers(3) == 0 else [float(number) for number in exact[3:]]
    cv2.ipp.setUseIPP(False)
    tensor = steps(decoded(file), table, height, width)
    tensor = tensor.astype(np.uint8) if is_bytes else tensor
    is_last = bool(rng.integers(2))
    if not is_last:
        tensor = tensor.transpose(2, 0, 1)
    facts = {"table": table, "height": height, "width": width, "is_bytes": bool(is_bytes), "is_last": is_last}
    return facts, [file, np.ascontiguousarray(tensor).tobytes()]


CASES = {"decode": decode_case, "resize": resize_case, "pipeline": pipeline_case, "steps": steps_case}


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
