# Checks a receipt, registration or charter of https://www.anteroom.example on its own; needs Python 3.6 or later.
# With --counted it also asks the public log whether a registration or charter was counted.
import argparse, contextlib, hashlib, itertools, json, re, sys, threading, time, urllib.request
from datetime import datetime
from base64 import b64decode, b64encode
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # RFC 8032, section 5.1
D = -121665 * pow(121666, P - 2, P) % P
INK = re.compile(  # what shows: no white space, and not ignorable by default
    "[^\t-\r \x85\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
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
def strange(constant): refuse(constant + " is not JSON")
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
def iso(v, form):  # a day or a time that exists, in the one form that there is
    return datetime.strptime(v, form).isoformat() + "Z" in (v, v + "T00:00:00Z")
def promised(kind, o, digest):  # what a promise says, if its text is exactly that about this record
    said = json.loads(o["promise"]["text"])
    c = {"commitment": "counted-promise-v0", "kind": kind, "payload_sha256": digest}
    c.update((k, text(o[k])) for k in ("record_id", "recorded_at"))
    c.update((k, said[k]) for k in ("issued_by", "counted_by", "log", "size", "root"))
    good = re.fullmatch("[0-9a-f]{32}", c["record_id"]) and text(c["issued_by"])
    good = good and iso(c["recorded_at"], "%Y-%m-%dT%H:%M:%SZ") and iso(c["counted_by"], "%Y-%m-%d")
    good = good and c["recorded_at"][:10] <= c["counted_by"]
    if c["log"] is None: good = good and c["size"] is c["root"] is None
    else: good = good and text(c["log"]) and c["size"] >= 0 and len(strict(c["root"])) == 32
    same = json.dumps(c, separators=(",", ":"), ensure_ascii=False) == o["promise"]["text"]
    return said if good and same else refuse("")
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
# The public log: its newest checkpoint is signed, and all entries together have the signed root.
MOST, LEVELS, SECONDS = 2**20, 32, 20  # what a file may have, and how long it may take
CHECKPOINT = ("(([a-z0-9.-]+/log(?:-[1-9][0-9]{0,3})?)\n(0|[1-9][0-9]{0,7})\n"
              "([A-Za-z0-9+/]{43}=)\n)\n((?:\u2014 [^ \n]+ [^ \n]+\n)+)")
def sha256(data): return hashlib.sha256(data).digest()
def strict(base64):  # the bytes, where they are written in the one form that there is
    data = b64decode(base64)
    return data if b64encode(data).decode() == base64 else refuse("not strict base64")
def log_key(vkey):  # C2SP signed-note: a name, its id and the Ed25519 key
    name, number, key = (vkey.split("+", 2) + ["", ""])[:3]
    good = sha256(name.encode("utf-8") + b"\n" + strict(key))[:4].hex() == number
    good = good and strict(key)[:1] == b"\1" and len(strict(key)) == 33
    return (name, number, strict(key)[1:]) if good else refuse("not a key of a log: " + vkey)
class Checkpoint:  # C2SP tlog-checkpoint
    def __init__(self, file, key):
        m = re.fullmatch(CHECKPOINT, file.decode("utf-8")) or refuse("not a checkpoint")
        text, self.origin, size, root, notes = m.groups()
        self.size, self.root = int(size), strict(root)
        signatures = re.findall(" ([^ \n]+) ([^ \n]+)\n", notes)
        signatures = [(name, strict(s)) for name, s in signatures]
        own = [s for name, s in signatures if name == key[0] and s[:4].hex() == key[1]]
        self.authentic = self.origin == key[0] and own != [] and signed(
            key[2], text.encode("utf-8"), own[0][4:])
def root(hashes):  # of a tree over the hashes of entries (RFC 6962, 2.1)
    while len(hashes) > 1:
        odd = hashes[len(hashes) & ~1:]
        hashes = [sha256(b"\1" + a + b) for a, b in zip(hashes[::2], hashes[1::2])] + odd
    return hashes[0] if hashes else sha256(b"")
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
def rebuilt(url, size):  # the entries, from their bundles (C2SP tlog-tiles)
    entries = []
    while len(entries) < size:
        n, width = len(entries) // 256, min(256, size - len(entries))
        name = "%03d" % (n % 1000)
        while n >= 1000: n //= 1000; name = "x%03d/%s" % (n % 1000, name)
        at = "%s/tile/entries/%s%s" % (url, name, "" if width == 256 else ".p/%d" % width)
        file, end = fetch(at), 0
        for _ in range(width):
            end, begin = end + 2 + int.from_bytes(file[end:end + 2], "big"), end + 2
            entries.append(file[begin:end])
        end == len(file) or refuse("%s: not %d entries" % (at, width))
    return entries
def countable(kind, o, url, vkey):  # what an answer must be, and the key
    if kind == "receipt": refuse("only registrations and charters are counted")
    if o.get("record_id", "") is None: refuse("a dry run is not recorded")
    re.fullmatch("[0-9a-f]{32}", text(o.get("record_id"))) or refuse("invalid record_id")
    vkey or refuse("this service keeps no log")
    form = "https?://[A-Za-z0-9.:[\\]-]+(/[A-Za-z0-9._~-]+)*/log"
    re.fullmatch(form, url) or refuse("want the http or https address of a log, ending in /log")
    return log_key(vkey)
def logged(url, key):  # the whole log, which is checked: entries and hashes
    head = Checkpoint(fetch(url + "/checkpoint"), key)
    what = "it is signed by the key of %s, with %d entries" % (head.origin, head.size)
    step("checkpoint", what, head.authentic)
    entries = rebuilt(url, head.size)
    hashes = [sha256(b"\0" + e) for e in entries]
    step("entries", "the signed root is the root of all of them", root(hashes) == head.root)
    return [json.loads(e.decode("utf-8")) for e in entries], hashes
def judge(entries, key, at, given, by):  # who names a key for the time of a record, or revoked it
    lists = [(e["board"][12:-5], dict(k.partition("@")[::2] for k in e["receipt_keys"]))
             for e in entries if e["kind"] == "verification"]
    named = [i for i, (_, keys) in enumerate(lists) if key in keys and counts(keys[key], at)]
    last = named[-1] if named else -1
    if named and (last == len(lists) - 1 or key not in lists[-1][1]):
        gone = next((name for name, keys in lists[last:] if key not in keys), None)
        return "verification " + lists[last][0], gone
    return (by if key in given and counts(given[key], at) else None), None
def itself(url, host):  # whether a log is read from the service itself, or from this machine
    host = "https://%s|https?://(localhost|127[.][0-9.]+|\\[::1\\])" % re.escape(host)
    return re.fullmatch("(%s)(:[0-9]+)?/log" % host, url)
def counted(kind, o, said, entries, own):  # the entry of an answer, and how its promise was kept
    record = sha256((o["record_id"] + "\n" + o["payload_sha256"]).encode("utf-8")).hex()
    due = said["counted_by"] if said else ""
    index = next((i for i, e in enumerate(entries) if e.get("entry") == record), None)
    if index is None:
        newest, what = entries[-1]["as_of"], "not counted by a hand verification yet"
        past = due and due < time.strftime("%Y-%m-%d", time.gmtime())
        late = due and due < newest or past and own
        if past and not late: refuse("not in this copy, whose newest verification is of " + newest)
        if due: what += (": BROKEN PROMISE, due by " if late else ", promised by ") + due
        step("entry", what, False)
    after = entries[index:]
    day = next(e["as_of"] for e in after if e["kind"] == "verification")
    changes = [e["to"] for e in after if e["kind"] == "correction" and e["index"] == index]
    said = entries[index]["kind"]
    what = "it is entry %d, a record that counts as %s" % (index, said)
    step("entry", what, said in (kind, "own"))
    if due: step("in time", "it is counted by %s, as promised by %s" % (day, due), day <= due)
    if changes: print("since then: it counts as " + changes[-1])
    if said == "own": step("counted", "the operator's own record, set apart on " + day, False)
    print("counted %s by %s, entry %d of %d" % (kind, day, index, len(entries)))
def main():
    cli = argparse.ArgumentParser(prog="verify.py", epilog="Exit status: 0 valid, 1 not valid, 2 not checked.")
    cli.add_argument("--receipt-key", metavar="KEY", default="FoUN+HAAMZm6qQxwf51oQfavAeWJKDhGEYIClXvpvD8=@2026-11-01..2026-11-20", help="the public key to check receipts and promises with, in base64; join several with commas, the current one first, and add @FIRST..LAST to a key for the days on which it signed. The service publishes it as public_key_b64 at https://www.anteroom.example/api/receipt")
    cli.add_argument("--counted", action="store_true", help="also check that the public log has this registration or charter; this service keeps no log")
    cli.add_argument("--log", metavar="URL", help="the address of the log to read for --counted")
    cli.add_argument("--log-key", metavar="VKEY", default="", help="the verifier key of the log")
    cli.add_argument("file", nargs="?", help="the JSON answer, unchanged; default standard input")
    args, kind, canonical, said = cli.parse_args(), "receipt", None, None
    url = "" if args.log is None else args.log
    count = args.counted or args.log is not None
    try:
        data = (open(args.file, "rb") if args.file else sys.stdin.buffer).read(MOST + 1)
        if len(data) > MOST: refuse("larger than 1 MiB")
        if 0 in data[:2] or data[:2] in (b"\xff\xfe", b"\xfe\xff"): refuse("UTF-16, want UTF-8")
        hooks = {"object_pairs_hook": unique, "parse_constant": strange, "parse_int": whole}
        o = json.loads(data.decode("utf-8-sig"), **hooks)
        if levels(o) > LEVELS: refuse("nested deeper than %d levels" % LEVELS)
        json.dumps(o, ensure_ascii=False).encode("utf-8")  # refuses unpaired surrogates
        if type(o) is dict and "verify" not in o and "receipt_spec" not in o:
            kind = next((k for k in ("registration", "charter") if k in o), kind)
        o = o.get("verify", o) if type(o) is dict else o
        type(o) is dict or refuse("not an object")
        keys = dict(k.partition("@")[::2] for k in args.receipt_key.split(",") if k)
        good = all(re.fullmatch("[A-Za-z0-9+/]{43}=", k) for k in keys)
        good or refuse("a key has 32 bytes, in base64")
        if count: key = countable(kind, o, url, args.log_key)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as fault:
        cli.error("unreadable: %s" % fault)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        canonical = rebuild(kind, o)
    if kind != "receipt" and o.get("promise") is None:
        print("unsigned: it has no promise, so anyone could have made this " + kind)
    same = canonical and canonical == o.get("canonical")
    step("fields", "they %smatch canonical" % ("" if same else "do not "), same)
    digest = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    step("hash", "payload_sha256 is the SHA-256 of canonical", digest == o.get("payload_sha256"))
    by, what, message, at, until = o, "canonical", canonical, o.get("issued_at"), ""
    if kind == "receipt":
        step("signature", "the receipt is signed", o.get("signature") is not None)
    elif o.get("promise") is not None:
        with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
            said = promised(kind, o, digest)
        step("promise", "its text is the canonical one about this record", said is not None)
        by, what, message, at = o["promise"], "its text", o["promise"]["text"], o["recorded_at"]
        until = ", promised to be counted by " + said["counted_by"]
        if said["issued_by"] not in ("www.anteroom.example", args.log_key.split("/")[0]):
            cli.error("unverified: the promise is not from www.anteroom.example")
    elif not count: return print("valid " + kind)
    try:
        entries, hashes = [], []
        if count: entries, hashes = logged(url, key)
        if kind == "receipt" or said:
            named = by.get("public_key_b64")
            current = next((k for k in keys if not keys[k]), "")
            if not keys and not count: refuse("no key to check against: give public_key_b64 of "
                                              "https://www.anteroom.example/api/receipt with --receipt-key")
            if type(named) is not str or not INK.search(named): named = "" if said else current
            given = "this program" if args.receipt_key == "FoUN+HAAMZm6qQxwf51oQfavAeWJKDhGEYIClXvpvD8=@2026-11-01..2026-11-20" else "--receipt-key"
            who, revoked = judge(entries, named, at, keys, given)
            if not (count or current or named in keys):
                refuse("unverified: the documents of this service do not name its key")
            if said and not who: refuse("unverified: the key was not valid at that time")
            if not revoked:
                by_log = ", named by " + who if count else ""
                step("key", "it is valid for this service at that time" + by_log, who)
            raw = re.fullmatch("[A-Za-z0-9+/]{85}[AQgw]==", str(by.get("signature")))
            good = raw and signed(b64decode(named), message.encode("utf-8"), b64decode(raw[0]))
            step("signature", "%s is signed by %s" % (what, named), good)
            if revoked: refuse("revoked: %s names its key, and verification %s revoked it" %
                               (who, revoked))
        if not count: return print("valid " + kind + until)
        own = said and itself(url, said["issued_by"])
        if said and said["log"] == key[0]:  # which a copy of the log may not have reached
            size, then = said["size"], "the tree that the promise names, of %d entries"
            good = size <= len(hashes) and root(hashes[:size]) == strict(said["root"])
            if own or size <= len(hashes):
                step("kept", then % size + ", is the beginning of the log", good)
        elif said and said["log"]: print("another log: the promise names", said["log"])
        counted(kind, o, said, entries, own)
    except (OSError, ValueError, TypeError, LookupError) as fault:
        cli.error(str(fault))
if __name__ == "__main__": main()
