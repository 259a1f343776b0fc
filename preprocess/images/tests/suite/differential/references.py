"""The steps of the reference implementations, in OpenCV, Pillow and NumPy: from a JPEG file to rows of pixels of a tensor."""

import cv2
import numpy as np
from PIL import Image


def decoded(file):
    """Upright pixels, red first."""
    image = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR)
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


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


OPENCV = {"opencv-area": cv2.INTER_AREA, "opencv-linear": cv2.INTER_LINEAR, "opencv-linear-f32": cv2.INTER_LINEAR}
PILLOW = {"pillow-bilinear": Image.BILINEAR, "pillow-bicubic": Image.BICUBIC}
METHODS = [*OPENCV, *PILLOW]


def in_size(image, method, height, width):
    if method in PILLOW:
        return np.asarray(Image.fromarray(image).resize((width, height), PILLOW[method]))
    pixels = image.astype(np.float32) if method == "opencv-linear-f32" else image
    return cv2.resize(pixels, (width, height), interpolation=OPENCV[method])


def steps(image, table, height, width):
    """The steps of a table `[image]`."""
    method, short = table["resize"], table.get("short_side")
    if short is None:
        image = in_size(image, method, height, width)
    else:
        rows, columns, _ = image.shape
        if rows > columns:
            rows, columns = short * rows // columns, short
        else:
            rows, columns = short, short * columns // rows
        image = in_size(image, method, rows, columns)
        # round() goes to even, as torchvision has it.
        edge = round if method in PILLOW else int
        top, left = edge((rows - height) / 2), edge((columns - width) / 2)
        image = image[top : top + height, left : left + width]
    if table["channels"] == "bgr":
        image = image[:, :, ::-1]
    mean, deviation = np.array(table["mean"], np.float32), np.array(table["deviation"], np.float32)
    return (image.astype(np.float32) / np.float32(table["scale"]) - mean) / deviation
