"""Sliding windows and boxes by NumPy and SciPy: `peer.py FOLDER SEED DIVISOR`.

Makes one case in DIVISOR of each kind. Leaves `cases.jsonl`, one case a line, and `data.bin`, in which a case names its
arrays by offset and length in bytes.
"""

import itertools
import json
import math
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(3)

np.seterr(all="ignore")


class Cases:
    def __init__(self, folder):
        self.lines = open(folder / "cases.jsonl", "w")
        self.data = open(folder / "data.bin", "wb")

    def part(self, array, dtype=np.float32):
        data = np.ascontiguousarray(array, dtype=dtype).tobytes()
        start = self.data.tell()
        self.data.write(data)
        return [start, len(data)]

    def add(self, **case):
        print(json.dumps(case), file=self.lines)


def bell(extent):
    """As SciPy's, which takes seconds to load."""
    deviation, place = 0.125 * extent, np.arange(extent) - (extent - 1) / 2
    return np.exp(-(place**2) / (2 * deviation * deviation))


def check_bells(extents):
    try:
        from scipy.signal.windows import gaussian
    except ImportError as error:
        print(error)
        sys.exit(3)
    for extent in extents:
        np.testing.assert_allclose(bell(extent), gaussian(extent, std=0.125 * extent), rtol=1e-15)


def patch(extent):
    line = bell(extent)
    cube = np.cbrt(line[:, None, None] * line[:, None] * line)
    return (cube / cube.max()).astype(np.float32)


def window_case(cases, rng):
    extent = int(rng.integers(1, 8))
    stride = int(rng.integers(1, extent + 1))
    shape = [extent + stride * int(rng.integers(0, 4)) for _ in range(3)]
    class_count = int(rng.integers(1, 5))
    weights = patch(extent)
    sums, norm = np.zeros((class_count, *shape), np.float32), np.zeros(shape, np.float32)
    starts = list(itertools.product(*(range(0, n - extent + 1, stride) for n in shape)))
    given = []
    for start in starts:
        scores = rng.standard_normal((class_count, extent, extent, extent)).astype(np.float32)
        if rng.random() < 0.3:
            scores = np.round(scores)
        given.append(scores)
        box = tuple(slice(at, at + extent) for at in start)
        sums[(slice(None), *box)] += scores * weights
        norm[box] += weights
    cases.add(
        kind="windows",
        shape=shape,
        extent=extent,
        stride=stride,
        class_count=class_count,
        starts=starts,
        scores=cases.part(np.stack(given)),
        labels=cases.part(np.argmax(sums / norm, axis=0), np.uint8),
    )


def overlaps(box, others):
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    sides = np.maximum(high - low, np.float32(0))
    both = sides[:, 0] * sides[:, 1]
    area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return both / (area(box) + area(others) - both)


def suppressed(boxes, order, bound, closed):
    """Indices that stay, of `order`, which has the best first."""
    stay = []
    while len(order):
        stay.append(order[0])
        ratios = overlaps(boxes[order[0]], boxes[order[1:]])
        order = order[1:][~(ratios >= bound if closed else ratios > bound)]
    return stay


def select_case(cases, rng):
    count, class_count = int(rng.integers(0, 40)), int(rng.integers(2, 6))
    first = int(rng.integers(0, 2))
    corners = rng.integers(0, 12, (count, 2)).astype(np.float32)
    sizes = rng.integers(1, 8, (count, 2)).astype(np.float32)
    if rng.random() < 0.5:
        sizes += rng.random((count, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + sizes], axis=1)
    scores = rng.random((count, class_count)).astype(np.float32)
    if rng.random() < 0.3:
        scores = np.round(scores, 1)
    low = np.float32(rng.choice([0.0, 0.3, 0.5]))
    bound, closed = np.float32(rng.choice([0.3, 0.5, 0.6])), bool(rng.random() < 0.5)
    class_max, all_max = int(rng.integers(1, 15)), int(rng.integers(0, 25))
    level_max = int(rng.integers(1, 30)) if rng.random() < 0.5 else None
    cuts = sorted(int(cut) for cut in rng.integers(0, count + 1, 2))
    levels = list(zip([0, *cuts], [*cuts, count]))
    candidates = []
    for start, end in levels if level_max else [(0, count)]:
        flat = [(i, c) for i in range(start, end) for c in range(first, class_count) if scores[i, c] > low]
        flat.sort(key=lambda at: -scores[at])
        candidates += flat[:level_max]
    kept = []
    for label in range(first, class_count):
        order = np.array(sorted((i for i, c in candidates if c == label), key=lambda i: (-scores[i, label], i)), int)
        kept += [(float(scores[i, label]), label, int(i)) for i in suppressed(boxes, order[:class_max], bound, closed)]
    kept.sort(key=lambda found: (-found[0], found[1], found[2]))
    cases.add(
        kind="select",
        class_count=class_count,
        first_class=first,
        score_min=float(low),
        overlap=float(bound),
        is_closed=closed,
        per_class_max=class_max,
        detection_max=all_max,
        per_level_max=level_max,
        levels=levels,
        boxes=cases.part(boxes),
        scores=cases.part(scores),
        kept=[[boxes[i].tolist(), score, label] for score, label, i in kept[:all_max]],
    )


def decode_case(cases, rng):
    count = 40
    priors = rng.random((count, 4)).astype(np.float32)
    offsets = (3 * rng.standard_normal((count, 4))).astype(np.float32)
    name = str(rng.choice(["SSD_MOBILENET", "SSD_RESNET34", "RETINANET"]))
    x, y, width, height = priors.astype(np.float64).T
    if name == "SSD_MOBILENET":
        dy, dx, dh, dw = offsets.astype(np.float64).T / np.array([[10], [10], [5], [5]])
    else:
        dx, dy, dw, dh = offsets.astype(np.float64).T
    if name == "SSD_RESNET34":
        dx, dy, dw, dh = 0.1 * dx, 0.1 * dy, 0.2 * dw, 0.2 * dh
    if name == "RETINANET":
        dw, dh = np.minimum([dw, dh], math.log(1000.0 / 16))
    x, y, width, height = x + dx * width, y + dy * height, width * np.exp(dw), height * np.exp(dh)
    corners = np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)
    cases.add(
        kind="decode",
        coder=name,
        offsets=cases.part(offsets),
        priors=cases.part(priors),
        corners=cases.part(corners),
    )


def mobilenet_priors():
    scales = [*np.linspace(0.2, 0.95, 6), 1.0]
    found = []
    for level, grid in enumerate([19, 10, 5, 3, 2, 1]):
        shapes = [(scales[level], ratio) for ratio in (1.0, 2.0, 0.5, 3.0, 0.3333)]
        shapes.append((math.sqrt(scales[level] * scales[level + 1]), 1.0))
        if level == 0:
            shapes = [(0.1, 1.0), (scales[0], 2.0), (scales[0], 0.5)]
        for row, column in itertools.product(range(grid), repeat=2):
            for scale, ratio in shapes:
                root = math.sqrt(ratio)
                found.append([(column + 0.5) / grid, (row + 0.5) / grid, scale * root, scale / root])
    return found


def resnet34_priors():
    sizes = [4 * size for size in (21, 45, 99, 153, 207, 261, 315)]
    ratios = [[2], [2, 3], [2, 3], [2, 3], [2], [2]]
    found = []
    for level, grid in enumerate([50, 25, 13, 7, 3, 3]):
        cells = 1200 / (1200 // grid)
        one, next_one = sizes[level] / 1200, sizes[level + 1] / 1200
        shapes = [(one, one), (math.sqrt(one * next_one),) * 2]
        for ratio in ratios[level]:
            wide, narrow = one * math.sqrt(ratio), one / math.sqrt(ratio)
            shapes += [(wide, narrow), (narrow, wide)]
        for width, height in shapes:
            for row, column in itertools.product(range(grid), repeat=2):
                found.append([(column + 0.5) / cells, (row + 0.5) / cells, width, height])
    return np.clip(found, 0, 1)


def retinanet_anchors():
    """Middles and sizes, from corners as torchvision rounds them."""
    found = []
    for base, stride in zip([32, 64, 128, 256, 512], [8, 16, 32, 64, 128]):
        sizes = np.array([base, int(base * 2 ** (1 / 3)), int(base * 2 ** (2 / 3))], np.float32)
        tall = np.sqrt(np.array([0.5, 1.0, 2.0], np.float32))
        widths, heights = ((1 / tall)[:, None] * sizes).ravel(), (tall[:, None] * sizes).ravel()
        cell = np.round(np.stack([-widths, -heights, widths, heights], axis=1) / 2)
        grid = -(-800 // stride)
        at = np.arange(grid) * (800 // grid)
        rows, columns = np.meshgrid(at, at, indexing="ij")
        moved = np.stack([columns, rows, columns, rows], axis=2).reshape(-1, 1, 4) + cell
        found.append(moved.reshape(-1, 4))
    corners = np.concatenate(found)
    return np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)


def main():
    cases, rng, divisor = Cases(Path(sys.argv[1])), np.random.default_rng(int(sys.argv[2])), int(sys.argv[3])
    for name in ["mobilenet_priors", "resnet34_priors", "retinanet_anchors"]:
        cases.add(kind="priors", name=name, values=cases.part(globals()[name]()))
    extents = [1, 2, 5, 16, 64, 128]
    if divisor == 1:
        check_bells(extents)
    for extent in extents:
        cases.add(kind="patch", extent=extent, values=cases.part(patch(extent)))
    for add, count in [(window_case, 1000), (select_case, 3000), (decode_case, 300)]:
        for _ in range(count // divisor):
            add(cases, rng)


main()
