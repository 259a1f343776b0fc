"""Prints what the driver of CUDA says about its devices, as JSON. A process of its own: a driver can crash."""

import ctypes
import json
import uuid

COMPUTE_CAPABILITY = (75, 76)


def main() -> dict:
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"missing": f"no driver: {error}"}

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returns {status}")

    call("cuInit", 0)
    version, count = ctypes.c_int(), ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(version))
    call("cuDeviceGetCount", ctypes.byref(count))
    devices = []
    for number in range(count.value):
        device, memory, name, id = (
            ctypes.c_int(),
            ctypes.c_size_t(),
            ctypes.create_string_buffer(256),
            (ctypes.c_ubyte * 16)(),
        )
        call("cuDeviceGet", ctypes.byref(device), number)
        call("cuDeviceGetName", name, len(name), device)
        call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        call("cuDeviceGetUuid_v2", ctypes.byref(id), device)
        capability = [ctypes.c_int(), ctypes.c_int()]
        for value, attribute in zip(capability, COMPUTE_CAPABILITY):
            call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        devices.append(
            {
                "name": name.value.decode(errors="replace"),
                "memory_bytes": memory.value,
                "uuid": str(uuid.UUID(bytes=bytes(id))),
                "capability": ".".join(str(value.value) for value in capability),
            }
        )
    return {"cuda": f"{version.value // 1000}.{version.value % 1000 // 10}", "devices": devices}


if __name__ == "__main__":
    print(json.dumps(main()))
