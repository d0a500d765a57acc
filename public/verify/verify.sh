# Checks a receipt, registration or charter of https://www.anteroom.example on its own, in any POSIX shell.
# verify.py and verify.mjs also check whether it was counted (--counted).
keys="" IFS=
fail() { echo "verify.sh: $1" >&2; exit 2; }
step() {
  if [ $? = 0 ]; then echo "ok     $1"; else echo "FAILED $1" | sed 's/ is / is not /'; exit 1; fi; }
if [ "${1-}" = --key ]; then keys=${2-}; shift 2; fi
case $#${1-} in 0 | 1[!-]*) ;; *) fail "usage: [--key KEY[,KEY]] [FILE]. Exit status: 0 valid, 1 not valid, 2 not checked" ;; esac
for t in awk iconv mktemp openssl sha256sum; do command -v $t >/dev/null || fail "needs $t"; done
case $(openssl version) in "OpenSSL "[3-9]*) ;; *) fail "needs OpenSSL 3 or later" ;; esac
d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT && cat "${1:--}" >"$d/json" && cd "$d" || exit 2
[ "$(wc -c <json)" -le 1048576 ] || fail "unreadable: larger than 1 MiB"
[ -z "$keys" ] || ! echo "$keys" | tr , '\n' | grep -Evq '^[A-Za-z0-9+/]{43}=(@.*)?$' ||
  fail "a key has 32 bytes, in base64"
iconv -f UTF-8 -t UTF-8 json >/dev/null 2>&1 || fail "unreadable: not UTF-8"
# awk reads the JSON, writes each text as JSON.stringify does, and rebuilds canonical.
tr '\000' '\001' <json | LC_ALL=C awk '
function bad() { print "verify.sh: unreadable: no object, or duplicate name" >"/dev/stderr"; exit 2 }
function drop(n) { s = substr(s, n + 1); return 1 }
function take(c) { sub(/^[ \t\r\n]+/, "", s); return substr(s, 1, 1) == c && drop(1) }
function unit(  i, n) {
  if (s !~ /^[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]/) bad()
  for (i = 1; i < 5; i++) n = n * 16 + index("123456789abcdef", tolower(substr(s, i, 1)))
  return n * drop(4) }
function utf8(c,  low, room, t) {
  if (c >= 55296 && c < 56320 && sub(/^\\u/, "", s) && (low = unit()) >= 56320 && low < 57344)
    c = c * 1024 + low - 56613888
  if (c >= 55296 && c < 57344) bad()
  if (c < 32 && (t = substr("        btn fr", c + 1, 1)) ~ /[a-z]/) return "\\" t
  if (c < 128) return sprintf(c < 32 ? "\\u%04x" : c == 34 || c == 92 ? "\\%c" : "%c", c)
  for (room = 64; c >= room; room /= 2) { t = sprintf("%c", 128 + c % 64) t; c = int(c / 64) }
  return sprintf("%c", 256 - 2 * room + c) t }
function text(  t, c) { # the rest of a text whose first quotation mark is taken
  while (match(s, /["\\\001-\037]/)) {
    t = t substr(s, 1, RSTART - 1); c = substr(s, RSTART, 2); drop(RSTART + (c !~ /^"/))
    if (c ~ /^"/) return t
    t = t (c == "\\u" ? utf8(unit()) : c == "\\/" ? "/" : c ~ /^\\["\\bfnrt]/ ? c : bad()) }
  bad() }
function value(at, depth,  end, n, name) { # J has each text and literal, and "{" or "["
  J[at] = take("\"") ? "\"" text() "\"" : take("{") ? "{" : take("[") ? "[" : ""
  if (J[at] ~ /^[{[]/ && depth > 32) bad()
  if (J[at] ~ /^"/ || J[at] != "" && take(end = J[at] == "{" ? "}" : "]")) return
  if (J[at] != "") do {
    name = end == "]" ? ++n : take("\"") ? text() : bad()
    if ((at SUBSEP name) in J || end == "}" && !take(":")) bad()
    value(at SUBSEP name, depth + 1)
  } while (take(",") || !take(end) && bad())
  else if (match(s, /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)/)) {
    J[at] = substr(s, 1, RLENGTH); drop(RLENGTH) } else bad() }
function pair(at, name, form) {
  if (J[at, name] !~ form) { print "FAILED fields: they do not match canonical"; exit 1 }
  return ",\"" name "\":" J[at, name] }
{ s = s $0 "\n" } END { sub(/^\357\273\277/, "", s) # a byte order mark
  value("", 1); any = "^\".*\"$"; some = "^\".+\"$"; null = "^(\".+\"|null)$"; kind = "receipt"
  at = (SUBSEP "verify") in J ? SUBSEP "verify" : ""; if (!take("") || J[at] != "{") bad()
  if (at == "" && !((SUBSEP "receipt_spec") in J))
    kind = (SUBSEP "registration") in J ? "registration" : (SUBSEP "charter") in J ? "charter" : kind
  if (kind != "receipt" && J[at, "promise"] ~ /^(null)?$/)
    print "unsigned: it has no promise, so anyone could have made this " kind
  of = at SUBSEP kind; if (kind == "registration") c = ",\"commitment\":\"waitlist-canon-v0\"" \
    pair(of, "agent_name", null) pair(of, "pubkey", J[of, "agent_name"] == "null" ? some : null)
  else if (kind == "receipt") for (i = split("receipt_spec issued_by issued_at agent_name owner_email_sha256 note epoch", f, " "); i; i--)
    c = pair(at, f[i], f[i] == "owner_email_sha256" ? null : any) c
  else {
    for (i = n = split("rainmaker operator verifier scout treasurer", f, " "); i; i--) {
      r = of SUBSEP "roster" SUBSEP i; if (length(J[r, "allocation"]) > 9) J[r, "allocation"] = ""
      c = pair(r, "allocation", "^(0|[1-9][0-9]*)$") "}" c
      c = ",{" substr(pair(r, "position", "^\"" f[i] "\"$") pair(r, "agent_name", some) c, 2) }
    pair(of, "roster", "^[[]$"); pair(of SUBSEP "roster", n + 1, "^$") # neither more nor less
    c = pair(of, "org_name", any) pair(of, "commissioner", null) ",\"roster\":[" substr(c, 2) "]"
    c = ",\"commitment\":\"org-charter-canon-v0\"" c }
  c = t = "{" substr(c, 2) "}"; gsub(/[\\"]/, "\\\\&", t)
  pair(at, "canonical", J[at, "canonical"] == "\"" t "\"" ? any : "^ $"); printf "%s", c >"message"
  print "ok     fields: they match canonical"; time = J[(by = at), "issued_at"]; about = kind
  if (kind != "receipt" && J[at, "promise"] !~ /^(null)?$/) { # the signed text begins so
    by = at SUBSEP "promise"; time = J[at, "recorded_at"]; c = J[by, "text"]; about = "promise"
    gsub(/^"|"$/, "", c); gsub(/\\"/, "\"", c); if (c ~ /\\/ || index(c, "{\"commitment\":\"" \
      "counted-promise-v0\",\"kind\":\"" kind "\",\"payload_sha256\":" J[at, "payload_sha256"] \
      ",\"record_id\":" J[at, "record_id"] ",\"recorded_at\":" time ",") != 1) about = "another"
    else if (!index(c, time ",\"issued_by\":\"www.anteroom.example\",")) about = "foreign"
    day = match(c, /"counted_by":"[0-9-]+"/) ? substr(c, RSTART + 14, RLENGTH - 15) : "" }
  printf "%s", c >"signed"; k = J[by, "public_key_b64"]
  k = k ~ /^"/ && k !~ /^"( |\\[tnr])*"$/ ? substr(k, 2, length(k) - 2) : ""; t = J[by, "signature"]
  gsub(/[,@]/, ".", k)
  if (t ~ /^"/ && (length(t) != 90 || t !~ /^"[A-Za-z0-9+\/]*[AQgw]=="$/)) t = "x"
  print kind "\n" about "\n" J[at, "payload_sha256"] "\n" t "\n" k >"facts"
  print time "\n" day >"facts" }' || exit
{ read -r kind; read -r about; read -r hash; read -r signature; read -r key; read -r issued
  read -r until; } <facts
[ "$hash" = "\"$(sha256sum <message | cut -c 1-64)\"" ]
step "hash: payload_sha256 is the SHA-256 of canonical"
over="its text"; case $about in
  receipt) over=canonical; case $signature in "" | null) false ;; esac
    step "signature: the receipt is signed" ;;
  promise | another | foreign) [ $about != another ]; step "promise: it is about this record"
    [ $about != foreign ] || fail "unverified: the promise is not from www.anteroom.example" ;;
  *) echo "valid $kind"; exit 0 ;;
esac
[ "$keys" ] || fail "no key to check against: give one with --key"; key=${key:-${keys%%[,@]*}}
case ,$keys, in *",$key,"*) days= ;; *",$key@"*) days=${keys#*"$key@"} ;; *) days=9 ;; esac
soon=$(TZ=X-0:05 date +%Y-%m-%dT%H:%M:%SZ) days=${days%%,*} # in five minutes
LC_ALL=C awk -v at="$issued" -v soon="$soon" -v first="${days%%..*}" -v last="${days##*..}" '
  BEGIN { at = substr(at, 2, length(at) - 2); day = substr(at, 1, 10) # first and last may be ""
  exit !(first <= day && day <= (last == "" ? soon : last) && at <= soon) }' || {
  if [ $about = promise ]; then fail "unverified: the key was not valid at that time"; fi
  false; }
step "key: it is valid for this service at that time"
printf '\060\052\060\005\006\003\053\145\160\003\041\000' >k; echo "$key" | openssl base64 -A -d >>k
echo "$signature" | tr -d '"' | openssl base64 -A -d >s
openssl pkeyutl -verify -pubin -keyform DER -inkey k -rawin -in signed -sigfile s >/dev/null 2>&1
step "signature: $over is signed by $key"
echo "valid $kind${until:+, promised to be counted by $until}"
