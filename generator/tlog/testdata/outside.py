# Reads a log by the documents of C2SP alone (signed-note, tlog-checkpoint, tlog-tiles), and nothing
# of this project: whether the checkpoint is signed, and fits every bundle and tile of its tree.
# Arguments: the folder of the log. It ends with 1 and a line for the first fault.
import base64, hashlib, os, struct, sys
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def decode(data):  # RFC 8032, section 5.1.3
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y % 2**255
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P or y >= P:
        sys.exit("not a point")
    return (P - x if x % 2 != sign else x), y


def add(p, q):
    (a, b), (c, d) = p, q
    e = D * a * b * c * d % P
    return (a * d + b * c) * pow(1 + e, -1, P) % P, (b * d + a * c) * pow(1 - e, -1, P) % P


def multiply(n, p):
    r = (0, 1)
    while n:
        r, p, n = add(r, p) if n & 1 else r, add(p, p), n >> 1
    return r


BASE = decode(bytes([0x58]) + bytes([0x66]) * 31)


def verify(key, message, signature):
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return s < L and multiply(s, BASE) == add(decode(signature[:32]), multiply(k, decode(key)))


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def root(hashes):  # RFC 6962, section 2.1
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while k * 2 < len(hashes):
        k *= 2
    return node(root(hashes[:k]), root(hashes[k:]))


def tile(level, n, width):
    digits = "%03d" % n
    digits = "0" * (-len(digits) % 3) + digits
    groups = [digits[i:i + 3] for i in range(0, len(digits), 3)]
    path = "/".join(["x" + g for g in groups[:-1]] + groups[-1:])
    path = os.path.join(folder, "tile", str(level), path + ("" if width == 256 else ".p/%d" % width))
    try:
        return open(path, "rb").read()
    except OSError as fault:
        sys.exit(str(fault))


folder = sys.argv[1]
name, number, key = open(os.path.join(folder, "vkey")).readline().rstrip("\n").split("+", 2)
key = base64.b64decode(key, validate=True)
if hashlib.sha256(name.encode() + b"\n" + key).digest()[:4].hex() != number or key[0] != 1:
    sys.exit("the key has another number")
text, signatures = open(os.path.join(folder, "checkpoint"), encoding="utf-8").read().split("\n\n")
text += "\n"
origin, size, head = text.split("\n")[:3]
size = int(size)
if not signatures.endswith("\n"):
    sys.exit("the checkpoint is cut off")
lines = [line.split(" ") for line in signatures.splitlines()]
own = [base64.b64decode(s, validate=True) for dash, n, s in lines if dash == "\u2014" and n == name == origin]
own = [s for s in own if s[:4].hex() == number]
if len(own) != 1 or len(own[0]) != 68 or not verify(key[1:], text.encode(), own[0][4:]):
    sys.exit("the checkpoint is not signed by the key of " + origin)
leaves = []
for n in range((size + 255) // 256):
    width = min(256, size - 256 * n)
    bundle = tile("entries", n, width)
    for _ in range(width):
        (length,) = struct.unpack(">H", bundle[:2])
        if len(bundle) < 2 + length:
            sys.exit("bundle %d is cut off" % n)
        leaves.append(hashlib.sha256(b"\0" + bundle[2:2 + length]).digest())
        bundle = bundle[2 + length:]
    if bundle:
        sys.exit("bundle %d has more than %d entries" % (n, width))
if base64.b64encode(root(leaves)).decode() != head:
    sys.exit("the entries have another root")
level, hashes = 0, leaves
while hashes:
    for n in range((len(hashes) + 255) // 256):
        part = hashes[256 * n:256 * (n + 1)]
        if tile(level, n, len(part)) != b"".join(part):
            sys.exit("tile %d of level %d does not fit the entries" % (n, level))
    hashes = [root(hashes[i:i + 256]) for i in range(0, len(hashes) - 255, 256)]
    level += 1
print(origin, size)
