"""Answers of an ONNX file by the Python package of ONNX Runtime, read as MLPerf's reference implementation reads them.

Arguments: the model, the file of samples one after the other, their type and their shape such as 3x300x300, channels first.
Prints a line of JSON for each sample: a class, or records [upper, left, lower, right, score, class].
"""

import json
import sys

import numpy
import onnxruntime

GIVEN_UP = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
COCO = [number for number in range(1, 91) if number not in GIVEN_UP]


def until_low(scores, least):
    """How many scores come before the first one that is lower."""
    low = numpy.flatnonzero(scores < least)
    return int(low[0]) if len(low) else len(scores)


def of_classes(found):
    if "ArgMax:0" in found:
        return int(found["ArgMax:0"][0]) - 1
    logits = found["logits"][0]
    return int(logits.argmax()) - (len(logits) == 1001)


def of_tensorflow(found):
    count = int(found["num_detections:0"][0])
    boxes, scores, classes = (found[f"detection_{name}:0"][0][:count] for name in ("boxes", "scores", "classes"))
    return numpy.column_stack([boxes, scores, classes])


def of_ssd_resnet34(found):
    boxes, labels, scores = (found[name][0] for name in ("bboxes", "labels", "scores"))
    count = until_low(scores, 0.5)
    categories = [COCO[label - 1] for label in labels[:count]]
    return numpy.column_stack([boxes[:count, [1, 0, 3, 2]], scores[:count], categories])


def of_retinanet(found):
    boxes, labels, scores = (found[name] for name in ("boxes", "labels", "scores"))
    count = until_low(scores, 0.05)
    return numpy.column_stack([boxes[:count, [1, 0, 3, 2]] / numpy.float32(800), scores[:count], labels[:count]])


def answer(found):
    if "num_detections:0" in found:
        return of_tensorflow(found).tolist()
    if "bboxes" in found:
        return of_ssd_resnet34(found).tolist()
    if "boxes" in found:
        return of_retinanet(found).tolist()
    return of_classes(found)


def main():
    model, samples, element, shape = sys.argv[1:]
    shape = [int(extent) for extent in shape.split("x")]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    taken = session.get_inputs()[0]
    names = [output.name for output in session.get_outputs()]
    for sample in numpy.fromfile(samples, dtype=element).reshape(-1, *shape):
        if taken.shape[-1] == shape[0]:
            sample = numpy.ascontiguousarray(sample.transpose(1, 2, 0))
        print(json.dumps(answer(dict(zip(names, session.run(names, {taken.name: sample[None]}))))))


main()
