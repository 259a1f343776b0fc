# Evaluates a file of boxes with pycocotools, for `host bench data`. It comes after worker.py.
#
# The first argument is JSON with the path of the file, see boxes.rs. Each request is answered with time and figures.

import contextlib
import io


class Boxes:
    """Average precision by pycocotools, from objects in memory to the twelve figures."""

    def __init__(self, spec):
        import numpy
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval

        self.numpy, self.COCOeval, self.version = numpy, COCOeval, "pycocotools"
        with open(spec["boxes"]) as file:
            boxes = json.load(file)
        with contextlib.redirect_stdout(io.StringIO()):
            self.truth = COCO()
            self.truth.dataset = {
                "images": [{"id": image} for image in boxes["images"]],
                "categories": [{"id": category} for category in boxes["categories"]],
                "annotations": [
                    {"id": id, "image_id": image, "category_id": category, "bbox": bbox, "area": area, "iscrowd": int(crowd)}
                    for id, image, category, bbox, area, crowd in boxes["annotations"]
                ],
            }
            self.truth.createIndex()
            names = ("image_id", "category_id", "bbox", "score")
            self.found = self.truth.loadRes([dict(zip(names, it)) for it in boxes["detections"]])

    def answer(self, request):
        with contextlib.redirect_stdout(io.StringIO()):
            start = time.perf_counter()
            evaluation = self.COCOeval(self.truth, self.found, iouType="bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
            seconds = time.perf_counter() - start
        return {"seconds": seconds, "figures": self.numpy.asarray(evaluation.stats, dtype=float).tolist()}


serve(Boxes)
