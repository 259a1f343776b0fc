"""Evaluates a file of boxes with pycocotools, once for each line of stdin, and prints time and figures."""

import contextlib
import io
import json
import sys
import time

import numpy
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

with open(sys.argv[1]) as file:
    boxes = json.load(file)

with contextlib.redirect_stdout(io.StringIO()):
    truth = COCO()
    truth.dataset = {
        "images": [{"id": image} for image in boxes["images"]],
        "categories": [{"id": category} for category in boxes["categories"]],
        "annotations": [
            {"id": id, "image_id": image, "category_id": category, "bbox": bbox, "area": area, "iscrowd": int(crowd)}
            for id, image, category, bbox, area, crowd in boxes["annotations"]
        ],
    }
    truth.createIndex()
    names = ("image_id", "category_id", "bbox", "score")
    found = truth.loadRes([dict(zip(names, it)) for it in boxes["detections"]])

for _ in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()):
        start = time.perf_counter()
        evaluation = COCOeval(truth, found, iouType="bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        seconds = time.perf_counter() - start
    print(json.dumps([seconds, numpy.asarray(evaluation.stats, dtype=float).tolist()]), flush=True)
