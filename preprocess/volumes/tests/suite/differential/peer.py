"""Random volumes, and what nibabel, SciPy and NumPy make of them: `peer.py FOLDER SEED DIVISOR`.

Makes one case in DIVISOR of each kind. Leaves `cases.jsonl`, one case a line, and `data.bin`, in which a case names its
parts by offset and length in bytes.
"""

import gzip
import json
import sys
from pathlib import Path

try:
    import nibabel
    import numpy as np
    from scipy.ndimage import binary_fill_holes, zoom
except ImportError as error:
    print(error)
    sys.exit(3)

DATA_TYPES = ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
TARGET_MM = np.array([1.6, 1.2, 1.2])
# The least length and the stride of KiTS19, and lengths that make small volumes.
TRUE_FIT, SMALL_FIT = (128, 64), (8, 4)


class Cases:
    def __init__(self, folder):
        self.lines = open(folder / "cases.jsonl", "w")
        self.data = open(folder / "data.bin", "wb")

    def part(self, data):
        start = self.data.tell()
        self.data.write(data)
        return [start, len(data)]

    def add(self, **case):
        print(json.dumps(case), file=self.lines)


def file_bytes(array, rng, spacing=None, header_only=None):
    """A file in memory, the array's first axis as the file's first, and its header."""
    order = "<" if rng.random() < 0.7 else ">"
    header = nibabel.Nifti1Header(endianness=order)
    header.set_data_dtype(array.dtype)
    header.set_data_shape(array.shape)
    if spacing is not None:
        header.set_zooms(spacing)
    offset = 352 + 16 * int(rng.integers(0, 3))
    header["vox_offset"] = offset
    if header_only is not None:
        header_only(header)
    header["magic"] = b"n+1"
    voxels = array.astype(array.dtype.newbyteorder(order)).tobytes(order="F")
    raw = header.binaryblock + bytes(offset - 348) + voxels
    return raw


def packed(raw, rng):
    kind = rng.integers(0, 4)
    if kind == 0:
        return raw
    if kind == 1:
        # Two members, which gzip's readers take for one stream.
        cut = int(rng.integers(1, len(raw)))
        return gzip.compress(raw[:cut]) + gzip.compress(raw[cut:])
    return gzip.compress(raw, compresslevel=int(rng.integers(0, 10)))


def random_array(rng, shape, data_type):
    if data_type.startswith("f"):
        return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 6)).astype(data_type)
    info = np.iinfo(data_type)
    return rng.integers(info.min, info.max, shape, dtype=data_type, endpoint=True)


def random_placement(header, rng):
    kind = rng.integers(0, 3)
    if kind == 1:
        header["sform_code"] = 1
        for row in ("srow_x", "srow_y", "srow_z"):
            header[row] = rng.standard_normal(4)
    elif kind == 2:
        header["qform_code"] = 1
        quaternion = rng.standard_normal(4)
        quaternion /= np.linalg.norm(quaternion)
        quaternion *= np.sign(quaternion[0])
        header["quatern_b"], header["quatern_c"], header["quatern_d"] = quaternion[1:] * 0.999
        header["qoffset_x"], header["qoffset_y"], header["qoffset_z"] = rng.standard_normal(3) * 100
        header["pixdim"][0] = rng.choice([-1.0, 1.0])
    slope = rng.choice([0.0, 1.0, np.nan, 0.25, -3.1, 1e-3])
    header["scl_slope"] = slope
    header["scl_inter"] = rng.choice([0.0, -1024.0, 0.3])


def read_case(cases, rng):
    shape = tuple(int(extent) for extent in rng.integers(1, 40 if rng.random() < 0.05 else 8, 3))
    array = random_array(rng, shape, str(rng.choice(DATA_TYPES)))
    spacing = rng.uniform(0.2, 6.0, 3)
    raw = file_bytes(array, rng, spacing, lambda header: random_placement(header, rng))
    image = nibabel.Nifti1Image.from_bytes(raw)
    with np.errstate(over="ignore"):
        values = image.get_fdata().astype(np.float32)
    cases.add(
        kind="read",
        file=cases.part(packed(raw, rng)),
        shape=list(image.shape),
        spacing=[float(value) for value in image.header["pixdim"][1:4]],
        affine=image.affine[:3].ravel().tolist(),
        values=cases.part(values.tobytes()),
    )


def random_spacing(rng, shape):
    kind = rng.integers(0, 4)
    if kind == 0:
        return TARGET_MM.copy()
    if kind == 1:
        return TARGET_MM * rng.choice([0.25, 0.5, 1.0, 1.5, 2.0, 3.0], 3)
    if kind == 2:
        # Extents after resampling that are whole numbers or halves, for the rounding.
        return TARGET_MM * rng.integers(1, 40, 3) / (2.0 * np.array(shape))
    return rng.uniform(0.3, 6.0, 3)


def zoom_inputs(rng, extent_max):
    while True:
        shape = tuple(int(extent) for extent in rng.integers(1, extent_max, 3))
        spacing = random_spacing(rng, shape)
        raw_spacing = np.asarray(spacing, dtype=np.float32).tolist()
        factor = np.array(raw_spacing) / TARGET_MM
        if all(1 <= int(round(n * f)) <= 40 for n, f in zip(shape, factor)):
            break
    scan = rng.integers(-1000, 1500, shape).astype(np.int16)
    if rng.random() < 0.5:
        scan = (scan + rng.random(shape)).astype(np.float32)
    labels = rng.integers(0, 3, shape).astype(np.uint8)
    if rng.random() < 0.2:
        labels += 1
    return scan, labels, spacing, factor


def zoomed(scan, labels, factor):
    scan = scan.astype(np.float64).astype(np.float32)
    scan = zoom(scan, factor, order=1, mode="constant", cval=scan.min(), grid_mode=False)
    labels = zoom(labels, factor, order=0, mode="constant", cval=labels.min(), grid_mode=False)
    return scan, labels


def add_kits(cases, rng, kind, inputs, scan, labels):
    raw_scan, raw_labels, spacing, _ = inputs
    cases.add(
        kind=kind,
        file=cases.part(packed(file_bytes(raw_scan, rng, spacing), rng)),
        labels_file=cases.part(packed(file_bytes(raw_labels, rng, spacing), rng)),
        shape=list(scan.shape),
        values=cases.part(np.ascontiguousarray(scan, dtype=np.float32).tobytes()),
        labels=cases.part(np.ascontiguousarray(labels, dtype=np.uint8).tobytes()),
    )


def zoom_case(cases, rng):
    inputs = zoom_inputs(rng, 14)
    scan, labels, _, factor = inputs
    add_kits(cases, rng, "zoom", inputs, *zoomed(scan, labels, factor))


def fit(volume, pad_value, least, stride):
    """To the least length with the ends, cropped or padded to multiples of the stride: one axis after the other."""
    for axis in range(3):
        missing = max(0, least - volume.shape[axis])
        widths = [(0, 0)] * 3
        widths[axis] = (missing // 2, missing - missing // 2)
        volume = np.pad(volume, widths, mode="edge")
        length = volume.shape[axis]
        rest = length % stride
        if rest < stride // 2:
            keep = slice(rest // 2, length - (rest - rest // 2))
            volume = volume[tuple(keep if other == axis else slice(None) for other in range(3))]
    for axis in range(3):
        missing = -volume.shape[axis] % stride
        widths = [(0, 0)] * 3
        widths[axis] = (missing // 2, missing - missing // 2)
        volume = np.pad(volume, widths, mode="constant", constant_values=pad_value)
    return volume


def prepared(cases, rng, kind, inputs, lengths):
    scan, labels, _, factor = inputs
    scan, labels = zoomed(scan, labels, factor)
    scan = (np.clip(scan, -79, 304) - 101.0) / 76.9
    add_kits(cases, rng, kind, inputs, fit(scan, -2.2, *lengths), fit(labels, 0, *lengths))


def kits_case(cases, rng):
    prepared(cases, rng, "kits", zoom_inputs(rng, 14), SMALL_FIT)


def true_kits_case(cases, rng):
    """Extents and distances of real scans, with fewer rows and columns."""
    shape = tuple(int(extent) for extent in rng.integers([30, 90, 90], [70, 160, 160]))
    spacing = np.array([rng.uniform(2.5, 5.0), *[rng.uniform(0.7, 1.5)] * 2])
    factor = np.array(spacing.astype(np.float32).tolist()) / TARGET_MM
    scan = rng.integers(-1000, 1500, shape).astype(np.int16)
    labels = rng.integers(0, 3, shape).astype(np.uint8)
    prepared(cases, rng, "true kits", (scan, labels, spacing, factor), TRUE_FIT)


def brats_case(cases, rng):
    """Modalities by the axes of the file; nnU-Net's are the other way round, as SimpleITK reads them."""
    room = [int(extent) for extent in rng.integers(8, 14, 3)]
    shape = [int(rng.integers(4, extent + 4)) for extent in room][::-1]
    density = rng.choice([0.02, 0.2, 0.7])
    # A part that fits into the room, so that few cases are refused.
    support = rng.random(shape) < density
    for axis in range(3):
        most = room[2 - axis] if rng.random() < 0.95 else shape[axis]
        keep = np.zeros(shape[axis], dtype=bool)
        start = int(rng.integers(0, max(1, shape[axis] - most + 1)))
        keep[start : start + most] = True
        support &= keep.reshape([-1 if other == axis else 1 for other in range(3)])
    scans = [
        np.where(support & (rng.random(shape) < 0.95), rng.integers(1, 1500, shape), 0).astype(np.int16)
        for _ in range(4)
    ]
    data = np.stack([scan.transpose(2, 1, 0) for scan in scans]).astype(np.float32)
    mask = binary_fill_holes((data != 0).any(axis=0))
    values, outcome = np.zeros((4, *room), np.float32), "empty"
    if mask.any():
        box = tuple(slice(places.min(), places.max() + 1) for places in np.nonzero(mask))
        data, mask = data[(slice(None), *box)], mask[box]
        fits = all(extent <= most for extent, most in zip(mask.shape, room))
        outcome = "fits" if fits else "too large"
        if fits:
            front = [(most - extent) // 2 for extent, most in zip(mask.shape, room)]
            middle = tuple(slice(start, start + extent) for start, extent in zip(front, mask.shape))
            for channel, volume in enumerate(data):
                inside = volume[mask].astype(np.float64)
                spread = np.float32(inside.std()) + np.float32(1e-8)
                volume = np.where(mask, (volume - np.float32(inside.mean())) / spread, 0)
                values[(channel, *middle)] = volume
    cases.add(
        kind="brats",
        files=[cases.part(packed(file_bytes(scan, rng, [1.0, 1.0, 1.0]), rng)) for scan in scans],
        room=room,
        outcome=outcome,
        values=cases.part(values.tobytes()),
    )


def main():
    folder, rng, divisor = Path(sys.argv[1]), np.random.default_rng(int(sys.argv[2])), int(sys.argv[3])
    cases = Cases(folder)
    for add, count in [(read_case, 1500), (zoom_case, 2000), (kits_case, 1000), (true_kits_case, 4), (brats_case, 1000)]:
        for _ in range(-(-count // divisor)):
            add(cases, rng)


main()
