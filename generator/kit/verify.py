# Checks a receipt, registration or charter of [[base_url]] without it; needs Python 3.6 or later.
import argparse, contextlib, hashlib, itertools, json, re, sys; from base64 import b64decode
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # RFC 8032, section 5.1
D = -121665 * pow(121666, P - 2, P) % P
def point(b):  # of 32 bytes, None where there is none; as most verifiers do it takes y modulo P
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
        c = {k: text(o[k], k == "[[receipt_nullable]]") for k in "[[receipt_fields]]".split()}
    elif kind == "registration":
        c = {k: text(o[kind][k], True) for k in ("agent_name", "pubkey")}
        c = {"commitment": text(c["agent_name"] or c["pubkey"]) and "[[canon_registration]]", **c}
    else:
        seats = itertools.zip_longest(o[kind]["roster"], "[[positions]]".split())
        c = {"commitment": "[[canon_charter]]", "org_name": text(o[kind]["org_name"])}
        c["commissioner"] = text(o[kind]["commissioner"], True)
        c["roster"] = [seat(*pair) for pair in seats]
    return json.dumps(c, separators=(",", ":"), ensure_ascii=False)
def unique(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a name stands twice")
def step(name, what, passed):
    print("ok    " if passed else "FAILED", name + ":", what)
    if not passed: sys.exit(1)
def main():
    cli = argparse.ArgumentParser(prog="verify.py", epilog="[[kit_exit]].")
    cli.add_argument("--key", default="[[receipt_keys]]", help="[[kit_key]]")
    cli.add_argument("file", nargs="?", help="[[kit_file]]")
    args, kind, canonical = cli.parse_args(), "receipt", None
    try:
        data = (open(args.file, "rb") if args.file else sys.stdin.buffer).read().decode("utf-8")
        o = json.loads(data, object_pairs_hook=unique, parse_constant=refuse)
        json.dumps(o, ensure_ascii=False).encode("utf-8")  # refuses unpaired surrogates
        if "verify" not in o and "receipt_spec" not in o:
            kind = next((k for k in ("registration", "charter") if k in o), kind)
        o = dict(o.get("verify", o).items())
        keys = [k for k in args.key.split(",") if k]
        len(keys) * 32 == len(b"".join(map(b64decode, keys))) or refuse("a key has 32 bytes")
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as fault:
        cli.error("unreadable: %s" % fault)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        canonical = rebuild(kind, o)
    step("fields", "they rebuild into canonical", canonical and canonical == o.get("canonical"))
    digest = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    step("hash", "payload_sha256 is the SHA-256 of canonical", digest == o.get("payload_sha256"))
    if kind == "receipt":
        step("signature", "the receipt has one", o.get("signature") is not None)
        if not keys: cli.error("no key to check against: give it with --key")
        named = o.get("public_key_b64")
        if not isinstance(named, str) or not named.strip(): named = keys[0]
        step("key", "it is a key of the service", named in keys)
        raw = re.fullmatch("[A-Za-z0-9+/]{85}[AQgw]==", str(o["signature"]))
        good = raw and signed(b64decode(named), canonical.encode("utf-8"), b64decode(raw[0]))
        step("signature", "it is one by %s over canonical" % named, good)
    print("valid " + kind)
if __name__ == "__main__": main()
