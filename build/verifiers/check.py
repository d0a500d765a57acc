"""Checks a published log by its description alone: check.py BASE KEYS.

BASE is the address of a service, or a folder with what it publishes; KEYS is a file with the
verifier keys of the log, one a line, such as /log/vkey. It computes everything anew that is
published of the log and compares the bytes. Of a folder it takes no file besides. It needs Python
3.8 and no library, and shares no code with the program that made the log.
"""
import base64, collections, hashlib, json, os, sys

WIDTH = 256
MEMBERS = {"registration": "entry", "charter": "entry", "suggestion": "entry", "own": "entry", "vouched": "index",
           "correction": "index to", "verification": "as_of counts board board_sha256", "log": "checkpoint"}
RECORDS = [kind for kind, members in MEMBERS.items() if members == "entry"]
COUNTS = {"verified_organic_agent_conversions": "vouched", "registrations_recorded": "registration",
          "charters_filed": "charter", "received_external": "suggestion", "development_seed_and_test_records": "own"}

class Refused(Exception): pass

def must(good, why):
    if not good: raise Refused(why)

# Ed25519 (RFC 8032, section 5.1.7), in projective coordinates.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

def decode(b):
    sign, y = b[31] >> 7, int.from_bytes(b, "little") % 2**255
    must(y < P, "a point is written with a number that is too large")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square: x = x * pow(2, (P - 1) // 4, P) % P
    must(x * x % P == square, "there is no such point")
    return (P - x if x & 1 != sign else x), y, 1

def plus(a, b):  # X, Y and Z each
    z, x, y = a[2] * b[2], a[0] * b[0], a[1] * b[1]
    low, high = (z * z - D * x * y) % P, (z * z + D * x * y) % P
    return z * low * ((a[0] + a[1]) * (b[0] + b[1]) - x - y) % P, z * high * (y + x) % P, low * high % P

def multiple(n, point):
    total = (0, 1, 1)
    for bit in bin(n)[2:]:
        total = plus(total, total)
        if bit == "1": total = plus(total, point)
    return total

def signed(key, message, signature):
    must(len(signature) == 64, "a signature has 64 bytes")
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    left = multiple(s, decode(bytes([0x58] + [0x66] * 31)))
    right = plus(decode(signature[:32]), multiple(k, decode(key)))
    return s < ORDER and all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))

# The Merkle tree (RFC 6962, section 2.1).
def sha(b): return hashlib.sha256(b).digest()
def node(left, right): return sha(b"\1" + left + right)

def levels_of(leaves):
    levels = [leaves]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)])
    return levels

def root_of(levels, size):  # of the first entries
    root, end = None, size
    for level in range(size.bit_length()):
        if size >> level & 1:
            left = levels[level][(end >> level) - 1]
            root, end = (left if root is None else node(left, root)), end - (1 << level)
    return root

def included(index, size, leaf, proof, root):  # RFC 9162, section 2.1.3.2
    at, last, got = index, size - 1, leaf
    for p in proof:
        if last == 0: return False
        if at & 1 or at == last:
            got = node(p, got)
            while not at & 1 and at: at, last = at >> 1, last >> 1
        else: got = node(got, p)
        at, last = at >> 1, last >> 1
    return last == 0 and got == root

# Files.
def get(path):
    if os.path.isdir(BASE):
        try:
            with open(BASE + path, "rb") as file: return file.read()
        except OSError: return None
    import urllib.error, urllib.request  # which takes longer than to check a small log
    try:
        with urllib.request.urlopen(BASE + path, timeout=60) as response: return response.read()
    except urllib.error.HTTPError as fault:
        if fault.code == 404: return None
        raise

def tile_path(kind, n, width):
    parts = ["%03d" % (n % 1000)]
    while n >= 1000:
        n //= 1000
        parts.insert(0, "x%03d" % (n % 1000))
    return "/tile/%s/%s%s" % (kind, "/".join(parts), "" if width == WIDTH else ".p/%d" % width)

def open_note(text, key):  # gives what a checkpoint signs: the size and the root
    name, key_id, encoded = key.split("+", 2)
    public = base64.b64decode(encoded, validate=True)
    must(public[:1] == b"\1" and sha(name.encode() + b"\n" + public)[:4].hex() == key_id, "a key is no verifier key")
    body, _, signatures = text.decode().partition("\n\n")
    origin, size, root = body.split("\n")
    must(origin == name and str(int(size)) == size, "a checkpoint is of %s" % origin)
    for line in signatures.rstrip("\n").split("\n"):
        dash, signer, sig = line.split(" ")
        sig = base64.b64decode(sig, validate=True)
        if (dash, signer, sig[:4].hex()) == ("\u2014", name, key_id):
            must(signed(public[1:], body.encode() + b"\n", sig[4:]), "the signature of checkpoint %s is wrong" % size)
            return int(size), base64.b64decode(root, validate=True)
    raise Refused("checkpoint %s has no signature of %s" % (size, name))

def cut(bundle):  # the entries of a bundle
    entries = []
    while bundle:
        end = 2 + int.from_bytes(bundle[:2], "big")
        must(len(bundle) >= end, "a bundle ends within an entry")
        entries.append(bundle[2:end])
        bundle = bundle[end:]
    return entries

def read(entry):
    e = json.loads(entry)
    must(list(e) == ["kind"] + MEMBERS.get(e["kind"], "").split(), "an entry has other members: %s" % e)
    must(json.dumps(e, separators=(",", ":"), ensure_ascii=False).encode() == entry, "an entry is written otherwise: %s" % e)
    return e

def check_tree(folder, key, newest, files):
    """Adds the files that the tree must have to files, and gives its entries."""
    size, _ = open_note(newest, key)
    entries = []
    for n in range((size + WIDTH - 1) // WIDTH):
        width = min(WIDTH, size - n * WIDTH)
        bundle = cut(get(folder + tile_path("entries", n, width)) or b"")
        must(len(bundle) == width, "bundle %d has %d entries instead of %d" % (n, len(bundle), width))
        entries += bundle
    levels = levels_of([sha(b"\0" + entry) for entry in entries])
    for i, entry in enumerate(entries):
        if not entry.startswith(b'{"kind":"verification"'): continue
        checkpoint = get("%s/checkpoints/%d" % (folder, i + 1))
        must(checkpoint is not None, "checkpoint %d is missing" % (i + 1))
        must(open_note(checkpoint, key) == (i + 1, root_of(levels, i + 1)), "checkpoint %d is of another tree" % (i + 1))
        must(i + 1 < size or checkpoint == newest, "the newest checkpoint is not that of its size")
        files["%s/checkpoints/%d" % (folder, i + 1)] = checkpoint
        name = json.loads(entry)["board"].split("/")[-1].rsplit(".", 1)[0]
        proof = get("/log/verifications/%s.tlog-proof" % name) or b""
        files["/log/verifications/%s.tlog-proof" % name] = proof
        lines, end = proof.partition(b"\n\n")[0].split(b"\n"), proof.partition(b"\n\n")[2]
        must(lines[:3] == [b"c2sp.org/tlog-proof@v1", b"extra " + base64.b64encode(entry), b"index %d" % i] and end == checkpoint
             and included(i, i + 1, levels[0][i], [base64.b64decode(h, validate=True) for h in lines[3:]], root_of(levels, i + 1)),
             "the proof of verification %s proves nothing" % name)
        for level in range(-1, 8):  # -1 are the bundles
            have = (i + 1) >> 8 * max(level, 0)
            for n in range(0 if i + 1 == size else have // WIDTH, (have + WIDTH - 1) // WIDTH):
                width = min(WIDTH, have - n * WIDTH)
                if level < 0:
                    part = b"".join(len(e).to_bytes(2, "big") + e for e in entries[n * WIDTH:n * WIDTH + width])
                else:
                    part = b"".join(levels[8 * level][n * WIDTH:n * WIDTH + width])
                files[folder + tile_path("entries" if level < 0 else level, n, width)] = part
    must(entries[-1].startswith(b'{"kind":"verification"'), "the last entry is no verification")
    return entries

def recount(trees):
    """Counts all entries, and gives the files of the look-up."""
    now, look_up, waiting = [], [], []
    for number, (entries, checkpoint_before) in enumerate(trees):
        for at, entry in enumerate(entries):
            e = read(entry)
            kind = e["kind"]
            must((kind == "log") == (number > 0 and at == 0), "entry %d: only a later tree begins with a checkpoint" % at)
            now.append(kind if kind in RECORDS + ["vouched"] else "none")
            if kind in RECORDS: waiting.append((e["entry"], at, kind, len(now) - 1))
            if "index" in e: must(0 <= e["index"] < len(now) - 1, "entry %d is about a later one" % at)
            if kind == "correction":
                must(e["to"] in RECORDS + ["vouched", "none"], "entry %d corrects to %s" % (at, e["to"]))
                now[e["index"]] = e["to"]
            if kind == "log":
                body, _, signatures = checkpoint_before.decode().partition("\n\n")
                must(e["checkpoint"] == body + "\n\n" + signatures.split("\n")[0] + "\n", "a tree continues another checkpoint")
            if kind == "verification":
                count = collections.Counter(now)
                must(e["counts"] == {k: count[v] for k, v in COUNTS.items()} and list(e["counts"]) == list(COUNTS),
                     "the counts of %s are not those of the entries" % e["as_of"])
                name = e["board"].split("/")[-1].rsplit(".", 1)[0]
                must(name.startswith(e["as_of"]), "a board is of another day than %s" % e["as_of"])
                look_up += [(digest, i, name, as_logged, n) for digest, i, as_logged, n in waiting]
                waiting = []
    files = {}
    for digest, at, name, kind, n in sorted(look_up):
        corrected = "" if now[n] == kind else " " + now[n]
        files.setdefault("/log/lookup/" + digest[:3], []).append("%s %d %s %s%s\n" % (digest, at, name, kind, corrected))
    return {path: "".join(lines).encode() for path, lines in files.items()}

def check(keys):
    text = "".join(key + "\n" for key in keys).encode()
    files, trees, before = {"/log/vkey": text}, [], None
    for key in keys:
        folder = "/" + key.split("+")[0].split("/", 1)[1]
        policy = get(folder + "/policy") or b""
        must(policy.startswith(b"log %s\n" % key.encode()) and policy.endswith(b"\nquorum none\n"), "the policy of %s is another" % folder)
        files[folder + "/policy"] = policy
        newest = get(folder + "/checkpoint")
        if newest is None: continue  # nothing is signed with this key yet
        files[folder + "/checkpoint"] = newest
        trees.append((check_tree(folder, key, newest, files), before))
        before = newest
    must(trees, "no key of the file has a checkpoint there")
    files.update(recount(trees))
    for path, wanted in files.items():
        must(get(path) == wanted, "%s is not what it must be" % path)
    if os.path.isdir(BASE):
        there = {os.path.join(at, name)[len(BASE):] for at, _, names in os.walk(BASE + "/log") for name in names}
        must(there == set(files), "there are other files: %s" % sorted(there ^ set(files))[:3])
    return len(trees), sum(len(entries) for entries, _ in trees), len(files)

if __name__ == "__main__":
    if len(sys.argv) != 3: sys.exit("usage: check.py BASE KEYS")
    BASE = sys.argv[1].rstrip("/")
    try:
        with open(sys.argv[2]) as keys_file: result = check(keys_file.read().split())
    except (Refused, ValueError, KeyError, TypeError, IndexError, AttributeError) as fault:
        print("check.py: refused: %s" % str(fault)[:300])
        sys.exit(1)
    print("check.py: %d trees, %d entries, %d files ok" % result)
