"""Messages of `treelet.device`: choosing a device, its memory and its limits."""

from __future__ import annotations

CLIENT_OR_DEVICE = "client= and device='emulated' cannot be combined"
INSTALL_CUPY = r"pip install 'treelet\[cuda\]'"
USE_THE_CPU = "device='cpu'"
NEEDS_CUPY = f"needs CuPy: {INSTALL_CUPY}.*{USE_THE_CPU}"
MEMORY_IS_FOR_CUDA = "device_memory= requires device='cuda'"
NO_GPU_FOUND = r"needs an NVIDIA GPU, and CuPy finds none \(.*\); use device='cpu'"
SCALE_THE_FEATURES_DOWN = "scale the features down"
BYTES_OF_VALUES = "bytes of values"
MEMORY_OPTION_IS_FOR_CUDA = "--device-memory requires --device cuda"


def is_full(device: str) -> str:
    return f"device='{device}' is full"


def out_of_memory(device: str) -> str:
    return rf"the memory of {is_full(device)}: Out of memory allocating 7 bytes\. .*device_memory=.*{USE_THE_CPU}"


def takes(size: str) -> str:
    return f"take {size} .* use {USE_THE_CPU}"


def no_code_for(kernel: str) -> str:
    return f"{kernel} cannot be computed with device='emulated'. One CPU thread computes"
