# Checks a receipt, registration or charter of https://www.anteroom.example on its own; needs Python 3.6 or later.
# With --counted it also asks the public log whether a registration or charter was counted.
import argparse, contextlib, hashlib, itertools, json, re, sys, threading, time, urllib.request
from base64 import b64decode, b64encode
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # RFC 8032, section 5.1
D = -121665 * pow(121666, P - 2, P) % P
def point(b):  # of 32 bytes, or None; as most verifiers do, it takes y modulo P
    y = int.from_bytes(b, "little") % 2**255 % P
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    x = x if (x * x - x2) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x % 2 != b[31] >> 7 else x
    return (x, y, 1, x * y % P) if (x * x - x2) % P == 0 else None
def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    return (b-a) * (d-c) % P, (d+c) * (b+a) % P, (d-c) * (d+c) % P, (b-a) * (b+a) % P
def times(n, p):
    return (0, 1, 1, 0) if not n else add(times(n - 1, p), p) if n & 1 else times(n >> 1, add(p, p))
def signed(key, message, signature):  # without cofactor: S*B - k*A must encode as R does
    a, r, s = point(key), signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L
    if len(key + signature) != 96 or a is None or s >= L: return False
    x, y, z, _ = add(times(s, point(b"X" + b"f" * 31)), times(k, (P - a[0], a[1], 1, P - a[3])))
    x, y = x * pow(z, P - 2, P) % P, y * pow(z, P - 2, P) % P
    return (y | x % 2 << 255).to_bytes(32, "little") == r
def refuse(why): raise ValueError(why)
def text(v, nullable=False):
    return v if v is None and nullable or type(v) is str and (v or not nullable) else refuse("")
def seat(s, position):
    good = s["position"] == position and text(s["agent_name"]) and type(s["allocation"]) is int
    return {k: s[k] for k in ("position", "agent_name", "allocation")} if good else refuse("")
def rebuild(kind, o):  # the canonical string that the members give
    if kind == "receipt":
        c = {k: text(o[k], k == "owner_email_sha256") for k in "receipt_spec issued_by issued_at agent_name owner_email_sha256 note epoch".split()}
    elif kind == "registration":
        c = {k: text(o[kind][k], True) for k in ("agent_name", "pubkey")}
        c = {"commitment": text(c["agent_name"] or c["pubkey"]) and "waitlist-canon-v0", **c}
    else:
        seats = itertools.zip_longest(o[kind]["roster"], "rainmaker operator verifier scout treasurer".split())
        c = {"commitment": "org-charter-canon-v0", "org_name": text(o[kind]["org_name"])}
        c["commissioner"] = text(o[kind]["commissioner"], True)
        c["roster"] = [seat(*pair) for pair in seats]
    return json.dumps(c, separators=(",", ":"), ensure_ascii=False)
def whole(digits): return int(digits) if re.fullmatch("0|[1-9][0-9]{0,8}", digits) else .5
def levels(v):
    v = list(v.values()) if type(v) is dict else v
    return 1 + max(map(levels, v), default=0) if type(v) is list else 0
def unique(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("duplicate name")
def counts(days, issued_at):  # where days are the first and the last, if there are such
    first, _, last = days.partition("..")
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 300))
    return first <= issued_at[:10] <= (last or soon[:10]) and issued_at <= soon
def step(name, what, passed):
    if passed: return print("ok    ", name + ":", what)
    print("FAILED", name + ":", what.replace(" is ", " is not ", 1))
    sys.exit(1)
# The public log: of a file nothing is believed before it fits what the key of the log has signed.
MOST, LEVELS, SECONDS = 2**20, 32, 20  # what a file may have, and how long it may take
NUMBER, DATE, HASH = "(0|[1-9][0-9]{0,8})", "([0-9]{4}-[0-9]{2}-[0-9]{2})", "[A-Za-z0-9+/]{43}="
ENTRY = "([0-9a-f]{64}) %s (%s(?:-[1-9][0-9]{0,2})?) ([a-z]+)(?: ([a-z]+))?\n" % (NUMBER, DATE)
CHECKPOINT = "(([a-z0-9.-]+/(log(?:/[1-9][0-9]{0,3})?))\n%s\n(%s)\n)\n" % (NUMBER, HASH)
PROOF = ("c2sp[.]org/tlog-proof@v1\nextra ([^ \n]+)\nindex %s\n((?:%s\n){0,63})\n" % (NUMBER, HASH)
         + CHECKPOINT + "((?:\u2014 [^ \n]+ [^ \n]+\n)+)")
def sha256(data): return hashlib.sha256(data).digest()
def strict(base64):  # the bytes, where they are written in the one form that there is
    data = b64decode(base64)
    return data if b64encode(data).decode() == base64 else refuse("not strict base64")
def log_key(vkey, kind=1):  # C2SP signed-note: a name, its id and the Ed25519 key; behind @ its end
    vkey, _, end = vkey.partition("@")
    name, number, key = (vkey.split("+", 2) + ["", ""])[:3]
    good = sha256(name.encode("utf-8") + b"\n" + strict(key))[:4].hex() == number
    good = good and strict(key)[:1] == bytes([kind]) and len(strict(key)) == 33
    a = point(strict(key)[1:]) if good else None
    good = a and times(8, a)[0] % P  # under a point of small order anybody can sign
    return (name, number, strict(key)[1:], end) if good else refuse(
        "not a key of a %s: %s" % ("log" if kind == 1 else "witness", vkey))
class Proof:  # what a tlog-proof (C2SP) and the checkpoint in it say
    def __init__(self, file):
        m = len(file) <= MOST and re.fullmatch(PROOF, file.decode("utf-8"))
        if not m: refuse("not a tlog-proof with extra data")
        extra, index, path, self.text, self.origin, self.folder, size, root, notes = m.groups()
        self.extra, self.index = strict(extra), int(index)
        self.size, self.root = int(size), strict(root)
        self.path = [strict(line) for line in path.splitlines()]
        self.signatures = re.findall(" ([^ \n]+) ([^ \n]+)\n", notes)
    def authentic(self, keys):  # by a key of its origin: its first signature counts
        for name, number, key, _ in keys:
            own = [strict(s) for n, s in self.signatures if n == name == self.origin]
            own = [s[4:] for s in own if s[:4].hex() == number]
            if own and signed(key, self.text.encode("utf-8"), own[0]): return True
    def cosigned(self, witness, day):  # when it was, from that day on (C2SP tlog-cosignature)
        for s in [strict(s) for n, s in self.signatures if n == witness[0]]:
            at = int.from_bytes(s[4:12], "big")
            if len(s) != 76 or s[:4].hex() != witness[1] or at > time.time() + 300: continue
            over, said = "cosignature/v1\ntime %d\n%s" % (at, self.text), time.gmtime(at)
            said = time.strftime("%Y-%m-%dT%H:%M:%SZ", said)
            if said[:10] >= day and signed(witness[2], over.encode("utf-8"), s[12:]): return said
# A tree has a hash for each entry at level 0, and at each level above one over every two below it.
# At its right edge a level may have one without a sibling, which is the same at the level above.
def beside(index, size):  # the levels, from the leaves up, at which a subtree has a sibling
    return [k for k in range((size - 1).bit_length()) if index >> k ^ 1 <= size - 1 >> k]
def climb(entry, index, size, path):  # RFC 9162, 2.1.3.2: an entry's subtrees, the last is the root
    if index >= size or len(path) != len(beside(index, size)): return [None]
    subtrees, path = [sha256(b"\0" + entry)], dict(zip(beside(index, size), path))
    for k in range((size - 1).bit_length()):
        pair = (path.get(k), subtrees[k]) if index >> k & 1 else (subtrees[k], path.get(k))
        subtrees.append(sha256(b"\1" + b"".join(pair)) if k in path else subtrees[k])
    return subtrees
def before(p):  # the hashes of a path that are of subtrees before the entry
    return [h for k, h in zip(beside(p.index, p.size), p.path) if p.index >> k & 1]
def over(h):  # the subtree over hashes of a tile
    return h if len(h) == 32 else sha256(b"\1" + over(h[:len(h) // 2]) + over(h[len(h) // 2:]))
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): pass  # it could lead anywhere, and is a fault like any other
OPENER = urllib.request.build_opener(Stay)
OPENER.addheaders = [("User-Agent", "verify.py")]
def fetch(url, absent="it answers 404"):
    got = []
    def get():
        try:
            with OPENER.open(url, timeout=SECONDS) as answer:
                file = answer.read(MOST + 1)
                whole = answer.status == 200 and not answer.length and len(file) <= MOST
                got.append(file if whole else "it is too long, or incomplete")
        except Exception as fault:
            got.append(absent if getattr(fault, "code", 0) == 404 else ascii(fault))
    thread = threading.Thread(target=get, daemon=True)  # a trickle outlasts the timeout of urllib
    thread.start()
    thread.join(SECONDS)
    file = got[0] if got else "no answer in time"
    return file if type(file) is bytes else refuse("%s: %s" % (url, file))
def tile(url, level, n, size):  # the hashes of a tile of C2SP tlog-tiles in a tree of some size
    width, name = min(256, (size >> 8 * level) - 256 * n), "%03d" % (n % 1000)
    while n >= 1000: n //= 1000; name = "x%03d/%s" % (n % 1000, name)
    url = "%s/tile/%d/%s%s" % (url, level, name, "" if width == 256 else ".p/%d" % width)
    hashes = fetch(url)
    return hashes if len(hashes) == 32 * width else refuse("%s: not %d hashes" % (url, width))
def siblings(url, index, size, edge):  # the path of an entry, from tiles and the tree's right edge
    path, tiles = [], {}
    for k in beside(index, size) if index < size else []:
        level, n, width = k // 8, index >> k ^ 1, 32 << k % 8
        if level not in tiles: tiles[level] = tile(url, level, index >> 8 * level + 8, size)
        part = tiles[level][n * width % 8192:][:width]
        path.append(over(part) if n < size - 1 >> k else edge[k])
    return path
def countable(kind, o, url, vkeys):  # what an answer must be, and the keys
    if kind == "receipt": refuse("only registrations and charters are counted")
    if o.get("record_id", "") is None: refuse("a dry run is not recorded")
    re.fullmatch("[0-9a-f]{32}", text(o.get("record_id"))) or refuse("invalid record_id")
    known = [log_key(k) for k in vkeys if k] or refuse("this service keeps no log")
    form = "https?://[A-Za-z0-9.:[\\]-]+(/[A-Za-z0-9._~-]+)*/log"
    re.fullmatch(form, url) or refuse("want the http or https address of a log, ending in /log")
    return known
def counted(kind, o, url, file, keys, witnesses, every, online):  # by a proof, or by the log
    record = sha256((o["record_id"] + "\n" + o["payload_sha256"]).encode("utf-8")).hex()
    kinds, name, since, newest = [kind, "own"], "", None, None
    def beyond(name): return Proof(fetch("%s/consistency/%s.tlog-proof" % (url, name)))
    if file is not None:
        proof = Proof(file)
        last, index = Proof(proof.extra), proof.index
        if last.extra[:1] != b"{": newest, last = last, Proof(last.extra)
        m = re.search('"board":"/scoreboard/(%s(?:-[1-9][0-9]{0,2})?)[.]json"' % DATE,
                      last.extra.decode("utf-8"))
        if m: name = m.group(1)
        if online and name: newest = beyond(name)
    else:
        lines = fetch(url + "/lookup/" + record[:3], b"").decode("utf-8").splitlines(True)
        lines = [re.fullmatch(ENTRY, s) or refuse("invalid lookup line: %.80r" % s) for s in lines]
        line = next((m.groups() for m in lines if m.group(1) == record), None)
        missing = "not counted by a hand verification yet"
        step("entry", "it is in the log's lookup" if line else missing, line)
        _, index, name, _, said, since = line
        newest = beyond(name)
        proof = last = Proof(newest.extra)
        index, kinds = int(index), [k for k in kinds if k == said]
    edge, size = climb(last.extra, last.index, last.size, last.path), proof.size
    ends = edge[-1] == last.root and last.index == size - 1 and last.text == proof.text
    path = proof.path
    if file is None: path = siblings(url[:-3] + proof.folder, index, size, edge) if ends else []
    entries = [(k, ('{"kind":"%s","entry":"%s"}' % (k, record)).encode("utf-8")) for k in kinds]
    entry = [k for k, e in entries if climb(e, index, size, path)[-1] == proof.root]
    step("inclusion", "it is entry %d of the %d entries under the checkpoint" % (index, size), entry)
    day = re.match('{"kind":"verification","as_of":"%s"' % DATE, last.extra.decode("utf-8"))
    date = day.group(1) if day else "any date"
    good = day and ends and (name or date).startswith(date)
    step("verification", "the last entry of that tree is the verification of " + date, good)
    what = "it is signed by the key of %s, with %d entries" % (proof.origin, size)
    step("checkpoint", what, proof.authentic(keys))
    head = newest or proof
    if newest:  # the hashes before an entry stay as they are when a tree grows
        good = climb(last.extra, newest.index, newest.size, newest.path)[-1] == newest.root
        good = good and newest.index == last.index and newest.origin == proof.origin
        good = good and before(newest) == last.path and newest.authentic(keys)
        seen = online and fetch(url[:-3] + newest.folder + "/checkpoint").decode("utf-8")
        good = good and (not online or seen.startswith(newest.text + "\n"))
        what = "the tree that this host shows now" if online else "the newest tree in the proof"
        what += ", of %d entries, is an extension of that tree" % newest.size
        step("newest", what, good)
    # Who has stolen a replaced key can sign with it: nothing counts but what led to its end.
    end = [k[3] for k in keys if k[0] == proof.origin][-1]
    newer = keys[-1][0] != proof.origin and keys[-1][0].split("/")[0] == proof.origin.split("/")[0]
    if end or newer and not online:
        what = "the proof's newest checkpoint is the last one of its key, which was replaced"
        step("key", what, end == "%d:%s" % (head.size, b64encode(head.root).decode()))
    times = [(w[0], proof.cosigned(w, date) or head.cosigned(w, date)) for w in witnesses]
    for by, at in times:
        if at: print("witnessed: it existed by %s, according to %s" % (at, by))
        elif every: step("witnessed", "it is cosigned by " + by, False)
    if not any(at for _, at in times):
        print("not witnessed: no given witness has cosigned it")
    if since: print("since then: it counts as %s, according to the lookup" % since)
    what = "the operator's own record, set apart on " + date
    if entry[0] == "own": step("counted", what, False)
    print("counted %s by %s, entry %d of %d in %s" % (kind, date, index, size, proof.origin))
def main():
    cli = argparse.ArgumentParser(prog="verify.py", epilog="Exit status: 0 valid, 1 not valid, 2 not checked.")
    cli.add_argument("--key", default="", help="the public key to check receipts with, in base64; join several with commas, the current one first, and add @FIRST..LAST to a key for the days on which it signed. The service publishes it as public_key_b64 at https://www.anteroom.example/api/receipt")
    cli.add_argument("--counted", action="store_true", help="also check that the public log has this registration or charter; this service keeps no log")
    cli.add_argument("--log", metavar="URL", help="the address of the log to read for --counted")
    cli.add_argument("--proof", metavar="FILE", help="check with this tlog-proof, without reading the log, that the answer was counted")
    cli.add_argument("--log-key", metavar="VKEY", default="", help="the verifier key of the log; join several with commas")
    cli.add_argument("file", nargs="?", help="the JSON answer, unchanged; default standard input")
    cli.add_argument("--witness", metavar="VKEY", help="the verifier key of a witness that must have cosigned; join several with commas")
    args, kind, canonical, proof = cli.parse_args(), "receipt", None, None
    url = "" if args.log is None else args.log
    count = args.counted or args.log is not None or args.proof is not None
    count = count or args.witness is not None
    try:
        data = (open(args.file, "rb") if args.file else sys.stdin.buffer).read(MOST + 1)
        if len(data) > MOST: refuse("larger than 1 MiB")
        hooks = {"object_pairs_hook": unique, "parse_constant": refuse, "parse_int": whole}
        o = json.loads(data.decode("utf-8-sig"), **hooks)
        if levels(o) > LEVELS: refuse("nested deeper than %d levels" % LEVELS)
        json.dumps(o, ensure_ascii=False).encode("utf-8")  # refuses unpaired surrogates
        if "verify" not in o and "receipt_spec" not in o:
            kind = next((k for k in ("registration", "charter") if k in o), kind)
        o = dict(o.get("verify", o).items())
        keys = [k.partition("@") for k in args.key.split(",") if k]
        good = all(re.fullmatch("[A-Za-z0-9+/]{43}=", k) for k, _, _ in keys)
        good or refuse("a key has 32 bytes, in base64")
        if count: log_keys = countable(kind, o, url, args.log_key.split(","))
        witnesses = "" if args.witness is None else args.witness
        witnesses = [log_key(w, 4) for w in witnesses.split(",") if w]
        if args.proof is not None:
            proof = open(args.proof, "rb").read(MOST + 1).replace(b"\r\n", b"\n")
            proof = proof.removeprefix(b"\xef\xbb\xbf")
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as fault:
        cli.error("unreadable: %s" % fault)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        canonical = rebuild(kind, o)
    if kind != "receipt" and o.get("promise") is None and not count:
        print("unsigned: it has no promise, so anyone could have made this " + kind)
    same = canonical and canonical == o.get("canonical")
    step("fields", "they %smatch canonical" % ("" if same else "do not "), same)
    digest = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    step("hash", "payload_sha256 is the SHA-256 of canonical", digest == o.get("payload_sha256"))
    if count:
        online = args.proof is None or args.log is not None
        every = args.witness is not None
        try: return counted(kind, o, url, proof, log_keys, witnesses, every, online)
        except (OSError, ValueError) as fault: cli.error("not checked: %s" % fault)
    by, what, message, at, until = o, "canonical", canonical, o.get("issued_at"), ""
    if kind == "receipt":
        step("signature", "the receipt is signed", o.get("signature") is not None)
    elif o.get("promise") is not None:  # the signed text begins with what it is about
        by, what, at = o["promise"], "its text", o.get("recorded_at")
        message = by.get("text") if type(by) is dict else None
        head = {"commitment": "counted-promise-v0", "kind": kind, "payload_sha256": digest}
        head.update(record_id=o.get("record_id"), recorded_at=at)
        good = type(message) is type(at) is str
        good = good and message.startswith(json.dumps(head, separators=(",", ":"))[:-1] + ",")
        step("promise", "it is about this record", good)
        with contextlib.suppress(KeyError, TypeError, ValueError):
            said = json.loads(message)
            until = ", promised to be counted by " + text(said["counted_by"])
            good = said["issued_by"] == "www.anteroom.example"
        if not until or not good: cli.error("unverified: the promise is not from www.anteroom.example")
    else: return print("valid " + kind)
    if not keys: cli.error("no key to check against: give one with --key")
    named = by.get("public_key_b64")
    if type(named) is not str or not named.strip(" \t\r\n"): named = keys[0][0]
    days = next((days for k, _, days in keys if k == named), None)
    good = days is not None and counts(days, at)
    if until and not good: cli.error("unverified: the key was not valid at that time")
    step("key", "it is valid for this service at that time", good)
    raw = re.fullmatch("[A-Za-z0-9+/]{85}[AQgw]==", str(by.get("signature")))
    good = raw and signed(b64decode(named), message.encode("utf-8"), b64decode(raw[0]))
    step("signature", "%s is signed by %s" % (what, named), good)
    print("valid " + kind + until)
if __name__ == "__main__": main()
