"""An independent writer and reader of safetensors, of the standard library alone.

python3 reference.py write FILE    writes the golden file that golden_test.go reads
python3 reference.py read FILE     prints the names, shapes and values of a file of F32 as JSON
"""
import json
import struct
import sys


def write(path):
    half = [0x3C00, 0xC000, 0x0001, 0x7BFF, 0x8000, 0x7C00]  # 1, -2, 2^-24, 65504, -0, inf
    tensors = [
        ("fc.weight", "F32", [2, 3], struct.pack("<6f", 0.5, -1.25, 3e38, 1e-45, 0.1, -0.0)),
        ("scalar", "F32", [], struct.pack("<f", 42.0)),
        ("empty", "F32", [0, 4], b""),
        ("double", "F64", [2], struct.pack("<2d", 0.1, -1e300 * 0)),
        ("half", "F16", [6], struct.pack("<6H", *half)),
        ("bfloat", "BF16", [2], struct.pack("<2H", 0x3F80, 0xC2F7)),  # 1, -123.5
        ("bn1.num_batches_tracked", "I64", [], struct.pack("<q", 16777216)),
        ("i32", "I32", [2], struct.pack("<2i", -7, 7)),
        ("i16", "I16", [2], struct.pack("<2h", -32768, 32767)),
        ("i8", "I8", [2], struct.pack("<2b", -128, 127)),
        ("u64", "U64", [1], struct.pack("<Q", 9)),
        ("u32", "U32", [1], struct.pack("<I", 8)),
        ("u16", "U16", [1], struct.pack("<H", 65535)),
        ("u8", "U8", [3], bytes([0, 1, 255])),
        ("bool", "BOOL", [2], bytes([1, 0])),
    ]
    header, at, data = {"__metadata__": {"format": "pt", "note": "ünïcode \"quoted\""}}, 0, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data += raw
    text = json.dumps(dict(sorted(header.items()))).encode()  # not in the order of the data, with spaces
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    (n,) = struct.unpack("<Q", raw[:8])
    assert n % 8 == 0, n
    header, data = json.loads(raw[8 : 8 + n].decode()), raw[8 + n :]
    out = {"metadata": header.pop("__metadata__", {}), "tensors": []}
    at = 0
    for name, e in header.items():
        assert e["dtype"] == "F32", e
        begin, end = e["data_offsets"]
        assert begin == at, (name, begin, at)
        at = end
        values = list(struct.unpack("<%df" % ((end - begin) // 4), data[begin:end]))
        out["tensors"].append({"name": name, "shape": e["shape"], "data": values})
    assert at == len(data), (at, len(data))
    json.dump(out, sys.stdout)


{"write": write, "read": read}[sys.argv[1]](sys.argv[2])
