"""Prints the bandwidth of copies within the GPU and the speed of products by PyTorch: torch_ceilings.py EXTENT."""

import json
import sys

from torch_peers import timed

COPY_BYTES = 1 << 30


def main(extent):
    import torch

    if not torch.cuda.is_available():
        return {"missing": "this torch has no device of CUDA"}
    torch.backends.cuda.matmul.allow_tf32 = False
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    seconds, count = timed(torch, lambda: target.copy_(source))
    rows = [row("within the device (torch)", seconds / count, nbytes=2 * COPY_BYTES)]
    for name, kind in (("f32", torch.float32), ("f16", torch.float16)):
        a, b = (torch.randn(extent, extent, device="cuda", dtype=kind) for _ in range(2))
        seconds, count = timed(torch, lambda: torch.mm(a, b))
        rows.append(row("product (torch)", seconds / count, operations=2 * extent**3, precision=name, extent=extent))
    return {"rows": rows}


def row(what, seconds, nbytes=0, operations=0, **more):
    rates = {"GB/s": nbytes / seconds / 1e9} if nbytes else {"GFLOP/s": operations / seconds / 1e9}
    return {"what": what, **more, "us": seconds * 1e6, **rates}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
