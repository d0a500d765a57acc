package kit_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/edge/jsondoc"
	"anteroom/edge/sha256"
	"anteroom/generator/kit"
	"anteroom/generator/vectors"
)

// The programs, with what runs each of them.
var programs = map[string]string{"verify.py": "python3", "verify.mjs": "node", "verify.sh": "sh"}

// published are the keys that the service in memory verifies with.
var published = []string{edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey)}

// write fills the programs in, and gives their files.
func write(t *testing.T, keys []string) map[string]string {
	files := map[string]string{}
	for name, interpreter := range programs {
		if _, err := exec.LookPath(interpreter); err != nil {
			t.Fatalf("the verify kit cannot be tested without %s: install it (Debian: apt-get install python3 nodejs openssl)", interpreter)
		}
		text, err := kit.Program(name, "https://www.example.org", keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(files[name], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// run gives what a program prints of an input, and its exit status.
func run(t *testing.T, name, file string, input []byte, arguments ...string) (stdout, stderr string, status int) {
	cmd := exec.Command(programs[name], append([]string{file}, arguments...)...)
	var out, faults bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &faults
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return out.String(), faults.String(), status
}

// driven is a run of a program within a process that runs it again and again.
type driven struct {
	Out, Faults string
	Status      int
}

// drivers run a program with each input of a list of hexadecimal texts, in one process: to start an
// interpreter takes much longer than to check a receipt.
var drivers = map[string][]string{
	"verify.py": {"-c", `
import contextlib, io, json, runpy, sys
main, results = runpy.run_path(sys.argv[2])["main"], []
inputs, sys.argv = json.load(sys.stdin), ["verify.py"]
for text in inputs:
    sys.stdin = io.TextIOWrapper(io.BytesIO(bytes.fromhex(text)))
    out, faults, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(faults):
        try: main()
        except SystemExit as end: status = end.code or 0
    results.append({"Out": out.getvalue(), "Faults": faults.getvalue(), "Status": status})
print(json.dumps(results))`},
	"verify.mjs": {"--input-type=module", "-e", `
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const { KEYS, read, check } = await import(pathToFileURL(process.argv[2]));
const results = [];
for (const text of JSON.parse(readFileSync(0))) {
  const run = { Out: "", Faults: "", Status: 0 };
  const show = (name, what, ok) => { run.Out += (ok ? "ok     " : "FAILED ") + name + ": " + what + "\n"; return ok; };
  try {
    const answer = read(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, "hex")));
    if (await check(answer, KEYS, show)) run.Out += "valid " + answer.kind + "\n"; else run.Status = 1;
  } catch (fault) { run.Faults = fault.message; run.Status = 2; }
  results.push(run);
}
console.log(JSON.stringify(results));`},
}

// runAll runs a program with all samples in one process; nil where there is no driver for it.
func runAll(t *testing.T, name, file string, samples []sample) (runs []driven) {
	if drivers[name] == nil {
		return nil
	}
	var inputs []string
	for _, s := range samples {
		inputs = append(inputs, hex.EncodeToString(s.input))
	}
	input, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(programs[name], append(slices.Clone(drivers[name]), "driver", file)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &runs)
	}
	if err != nil || len(runs) != len(samples) {
		t.Errorf("%s: %d runs of %d: %v", name, len(runs), len(samples), err)
		return nil
	}
	return runs
}

// Each program is short, and its lines are.
func TestShort(t *testing.T) {
	for name, most := range map[string]int{"verify.py": 208, "verify.mjs": 261, "verify.sh": 80} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines", name, n)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > 101 {
				t.Errorf("%s:%d has %d columns", name, i+1, len(line))
			}
		}
	}
}

// sample is an input, with the outcome that the service gives it.
type sample struct {
	name   string
	input  []byte
	status int    // 0 valid, 1 not valid, 2 nothing to check
	failed string // the step that fails; "" where the test does not say
}

// The three programs give the verdict of the service on every kind of input, and print the same.
func TestVerdicts(t *testing.T) {
	samples := slices.Concat(receipts(t), commitments(t), ofVectors(t))
	if len(samples) < 150 {
		t.Errorf("%d samples", len(samples))
	}
	outcomes := map[int]int{}
	for _, s := range samples {
		outcomes[s.status]++
	}
	for status := range 3 {
		if outcomes[status] < 15 {
			t.Errorf("%d samples with the status %d", outcomes[status], status)
		}
	}
	files := write(t, published)
	type printed struct {
		out    string
		status int
	}
	results := map[string][]printed{}
	var lock sync.Mutex
	var running sync.WaitGroup
	for name, file := range files {
		running.Go(func() {
			all := make([]printed, len(samples))
			inOne := runAll(t, name, file, samples)
			for i, s := range samples {
				out, faults, status := "", "", 0
				if inOne != nil && i%25 > 0 {
					out, faults, status = inOne[i].Out, inOne[i].Faults, inOne[i].Status
				} else {
					out, faults, status = run(t, name, file, s.input)
				}
				all[i] = printed{out, status}
				if status != s.status || (status == 2) != (faults != "") || s.failed != "" && !strings.HasSuffix(failing(out), s.failed) {
					t.Errorf("%s, %s: status %d, want %d\n%s%s\n%.500s", s.name, name, status, s.status, out, faults, s.input)
				}
			}
			lock.Lock()
			defer lock.Unlock()
			results[name] = all
		})
	}
	running.Wait()
	for i, s := range samples {
		for name := range programs {
			if got, want := results[name][i], results["verify.py"][i]; got != want && s.status != 2 {
				t.Errorf("%s: %s prints\n%sand verify.py\n%s", s.name, name, got.out, want.out)
			}
		}
	}
}

// failing is the name of the step that a program prints as failed.
func failing(out string) string {
	_, rest, _ := strings.Cut(out, "FAILED ")
	name, _, _ := strings.Cut(rest, ":")
	return name
}

// service gives the verdict of the service on a receipt: the status that a program has to exit
// with.
func service(t *testing.T, receipt []byte) int {
	body := receipt
	if !bytes.Contains(receipt, []byte(`{"verify":`)) {
		body = slices.Concat([]byte(`{"verify":`), receipt, []byte(`}`))
	}
	answer := edgetest.NewFake(t).Do("POST", "/api/receipt", string(body))
	switch {
	case answer.Status == 400:
		return 2
	case answer.Status != 200:
		t.Fatalf("%d %s", answer.Status, answer.Body)
	case edgetest.Decode(t, answer)["valid"] == true:
		return 0
	}
	return 1
}

func post(t *testing.T, path string, body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	answer := edgetest.NewFake(t).Do("POST", path, string(text))
	if answer.Status != 200 {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	return answer.Body
}

// odd is a text with whatever has to be escaped, and whatever must not be.
const odd = "é \"q\" \\b \\u2028 \u2028\u2029 <&> / 😀 \u00a0 \ufeff \uffff"

// edited is a JSON object with members changed: an empty text removes one.
func edited(t *testing.T, object []byte, changes ...string) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if members[changes[i]] = json.RawMessage(changes[i+1]); changes[i+1] == "" {
			delete(members, changes[i])
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func quoted(s string) string { return string(jsondoc.AppendString(nil, s)) }

// receipts are receipts, good ones and such with every kind of change.
func receipts(t *testing.T) (samples []sample) {
	add := func(name, failed string, input []byte) {
		samples = append(samples, sample{"receipt, " + name, input, service(t, input), failed})
	}
	whole := post(t, "/api/receipt", map[string]string{"agent_name": odd, "note": odd + "\t\r\n", "owner_email": "owner@example.org"})
	plain := post(t, "/api/receipt", map[string]string{})
	var members map[string]any
	if err := json.Unmarshal(whole, &members); err != nil {
		t.Fatal(err)
	}
	text := func(name string) string { s, _ := members[name].(string); return s }

	add("as received", "", whole)
	add("of nothing", "", plain)
	add("wrapped in verify", "", slices.Concat([]byte(`{"verify":`), whole, []byte(`}`)))
	add("with white space", "", []byte(strings.NewReplacer(`,"`, ",\r\n\t\"", `":`, `" : `).Replace(string(plain))+" \n"))
	sorted, err := json.MarshalIndent(members, "", "  ") // escapes <, > and &
	if err != nil {
		t.Fatal(err)
	}
	add("sorted and indented", "", sorted)
	add("escaped as ASCII", "", ascii(whole))
	add("with members of a registration", "", edited(t, plain, "registration", `{"agent_name":"a","pubkey":null}`, "charter", "{}"))
	add("with odd members", "", edited(t, plain, "__proto__", `{"note":"x"}`, "constructor", "1", "toString", "null", "receipt", "{}", "x y", `["\"",{}]`, "", "-0.5e+3"))
	add("with deep members", "", edited(t, plain, "x", strings.Repeat("[", 20)+strings.Repeat("]", 20)))

	for _, field := range canon.ReceiptFields {
		add(field+" edited", "fields", edited(t, whole, field, quoted(text(field)+"x")))
		add(field+" missing", "fields", edited(t, whole, field, ""))
		for _, value := range []string{"null", "7", "true", `""`, `[]`, `{}`, `["x"]`} {
			add(field+" "+value, "fields", edited(t, whole, field, value))
		}
	}
	for _, value := range []string{"null", "7", `""`, `{}`, quoted(text("canonical") + " "), quoted(strings.Replace(text("canonical"), "pre-launch", "launch", 1)), ""} {
		add("canonical "+value, "fields", edited(t, whole, "canonical", value))
	}
	hash := text("payload_sha256")
	for _, value := range []string{quoted(strings.ToUpper(hash)), quoted(hash + "\n"), quoted(" " + hash), quoted(hash[1:]), quoted(strings.Repeat("0", 64)), "null", "7", "[" + quoted(hash) + "]", ""} {
		add("payload_sha256 "+value, "hash", edited(t, whole, "payload_sha256", value))
	}
	signature := text("signature")
	flipped := []byte(signature)
	flipped[3] ^= 1
	for _, value := range []string{
		quoted(string(flipped)), quoted(signature[:84]), quoted(signature[:86]), quoted(signature + "=="), quoted(signature[:44] + "\n" + signature[44:]), quoted(" " + signature),
		quoted(strings.TrimRight(signature, "=")), quoted(strings.Repeat("A", 86) + "=="), quoted(strings.Repeat("-", 86) + "=="), quoted(signature[:85] + "/=="), `""`, "7", "true", "{}", "[" + quoted(signature) + "]", "null", "",
	} {
		add("signature "+value, "signature", edited(t, whole, "signature", value))
	}
	for _, value := range []string{"", "null", "7", `""`, `" \t"`, "[]", quoted(" " + published[0]), quoted(published[1]), quoted(published[0] + "," + published[1]), `"x"`} {
		add("public_key_b64 "+value, "", edited(t, whole, "public_key_b64", value))
	}
	for _, name := range []string{"signed", "signing_status", "action", "canonicalization", "notice", "verify_kit"} {
		add(name+" at odds", "", edited(t, whole, name, `false`))
		add(name+" missing", "", edited(t, whole, name, ""))
	}
	add("unsigned", "signature", edited(t, plain, "signature", "null", "signed", "false", "public_key_b64", `""`))

	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))
	for name, key := range map[string]ed25519.PrivateKey{"a stranger": stranger, "the retired key": edgetest.RetiredKey} {
		other := quoted(base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text("canonical")))))
		add("signed by "+name, "", edited(t, whole, "signature", other, "public_key_b64", quoted(edgetest.PublicKey(key))))
		add("signed by "+name+" in our name", "signature", edited(t, whole, "signature", other))
	}
	forged := strings.Replace(text("canonical"), "pre-launch", "launch", 1)
	add("edited as a whole", "signature", edited(t, whole, "epoch", `"launch"`, "canonical", quoted(forged), "payload_sha256", quoted(sha256.HexOf(forged))))
	add("empty", "fields", []byte("{}"))
	add("empty, wrapped", "fields", []byte(`{"verify":{}}`))

	for name, input := range map[string]string{
		"no text": "", "white space": " \n", "no JSON": "receipt", "cut off": string(whole[:len(whole)-1]), "trailing data": string(plain) + "{}", "a trailing comma": string(plain[:len(plain)-1]) + ",}",
		"single quotes": "{'a':1}", "a comment": "{/**/}", "NaN": `{"a":NaN}`, "a leading zero": `{"a":01}`, "a bare dot": `{"a":1.}`, "a plus": `{"a":+1}`, "no value": `{"a":}`, "no name": `{:1}`, "no colon": `{"a" 1}`, "two commas": `[1,,2]`,
		"a byte order mark": "\ufeff" + string(plain), "not UTF-8": `{"a":"` + "\xff" + `"}`, "overlong UTF-8": `{"a":"` + "\xc0\x80" + `"}`, "a surrogate in UTF-8": `{"a":"` + "\xed\xa0\x80" + `"}`,
		"a raw line feed": "{\"a\":\"\n\"}", "a raw null": "{\"a\":\"\x00\"}", "a raw tab": "{\"a\":\"\t\"}", "a bad escape": `{"a":"\x41"}`, "a short escape": `{"a":"\u12"}`, "a signed escape": `{"a":"\u+123"}`,
		"an unpaired surrogate": `{"a":"\ud83d"}`, "a low surrogate": `{"a":"\ude00"}`, "surrogates reversed": `{"a":"\ude00\ud83d"}`, "a surrogate in a name": `{"\ud800":1}`, "a high surrogate twice": `{"a":"\ud83d\ud83d"}`,
		"a name twice": `{"note":"a",` + string(plain[1:]), "a name twice, once escaped": `{"\u006eote":"a",` + string(plain[1:]), "a name twice, deeper": `{"x":[{"a":1,"a":1}],` + string(plain[1:]),
		"an array": "[]", "a string": `"receipt_spec"`, "a number": "7", "null": "null", "verify null": `{"verify":null}`, "verify an array": `{"verify":[]}`, "verify a string": `{"verify":""}`,
	} {
		if status := service(t, []byte(input)); status != 2 && !slices.Contains([]string{"no text", "white space"}, name) {
			t.Errorf("the service answers %s", name)
		}
		samples = append(samples, sample{"no receipt, " + name, []byte(input), 2, ""})
	}
	return samples
}

// ascii is a JSON text in ASCII alone, as many programs write it.
func ascii(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return b.Bytes()
}

// commitments are registrations and charters. The service has no verdict on them; what it gives to
// a dry run with their members is what they must have.
func commitments(t *testing.T) (samples []sample) {
	roster := []any{}
	for i, position := range []string{"rainmaker", "operator", "verifier", "scout", "treasurer"} {
		roster = append(roster, map[string]any{"position": position, "agent_name": fmt.Sprintf("%d %s", i, odd), "allocation": 5 + i})
	}
	for kind, c := range map[string]struct {
		path    string
		body    map[string]any
		changes map[string][]string // of the inner object, by the member
	}{
		"registration": {"/api/waitlist", map[string]any{"agent_name": odd, "pubkey": "k" + odd}, map[string][]string{
			"agent_name": {`"x"`, `""`, "null", "7", "[]", ""}, "pubkey": {`"x"`, `""`, "null", "7", "{}", ""},
		}},
		"charter": {"/api/org", map[string]any{"org_name": "Tern \"&\" é", "commissioner": odd, "roster": roster}, map[string][]string{
			"org_name": {`"Other"`, "null", "7", ""}, "commissioner": {`"x"`, "null", "7", ""}, "roster": {"[]", "null", "{}", `"x"`, "[1,2,3,4,5]", ""},
		}},
	} {
		whole := post(t, c.path, c.body)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(whole, &members); err != nil {
			t.Fatal(err)
		}
		add := func(name, failed string, input []byte) {
			samples = append(samples, sample{kind + ", " + name, input, recomputed(t, c.path, kind, input), failed})
		}
		add("as received", "", whole)
		add("escaped as ASCII", "", ascii(whole))
		add("with another member", "", edited(t, whole, "x", `{"a":[]}`))
		for _, name := range slices.Sorted(maps.Keys(c.changes)) {
			for _, value := range c.changes[name] {
				add(name+" "+value, "fields", edited(t, whole, kind, string(edited(t, members[kind], name, value))))
			}
		}
		for _, value := range []string{"null", "{}", "[]", `"x"`, "7"} {
			add(value, "fields", edited(t, whole, kind, value))
		}
		for _, value := range []string{"null", `"{}"`, ""} {
			add("canonical "+value, "fields", edited(t, whole, "canonical", value))
		}
		var hash string
		if err := json.Unmarshal(members["payload_sha256"], &hash); err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{quoted(strings.ToUpper(hash)), quoted(hash[1:]), "null", ""} {
			add("payload_sha256 "+value, "hash", edited(t, whole, "payload_sha256", value))
		}
		if kind != "charter" {
			continue
		}
		for name, change := range map[string]func(string) string{
			"an allocation edited":      func(s string) string { return strings.Replace(s, ":5", ":6", 1) },
			"an allocation as text":     func(s string) string { return strings.Replace(s, ":5", `:"5"`, 1) },
			"a name in a seat edited":   func(s string) string { return strings.Replace(s, `"0 `, `"1 `, 1) },
			"positions exchanged":       func(s string) string { return strings.NewReplacer("scout", "operator", "operator", "scout").Replace(s) },
			"a seat without a position": func(s string) string { return strings.Replace(s, `"position":"scout",`, "", 1) },
			"a seat more": func(s string) string {
				return strings.Replace(s, "[", `[{"position":"scout","agent_name":"x","allocation":5},`, 1)
			},
		} {
			text := string(members[kind])
			if change(text) == text {
				t.Fatalf("%s changes nothing", name)
			}
			add(name, "fields", edited(t, whole, kind, change(text)))
		}
	}
	return samples
}

// recomputed is 0 where the service gives an answer's canonical string and hash to what the answer
// says was registered or filed.
func recomputed(t *testing.T, path, kind string, answer []byte) int {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		t.Fatal(err)
	}
	dry := edgetest.NewFake(t).Do("POST", path+"?dry_run=1", string(members[kind]))
	var again map[string]json.RawMessage
	if dry.Status == 200 {
		if err := json.Unmarshal(dry.Body, &again); err != nil {
			t.Fatal(err)
		}
	}
	same := func(name string) bool {
		var a, b any
		return json.Unmarshal(members[name], &a) == nil && json.Unmarshal(again[name], &b) == nil && fmt.Sprint(a) == fmt.Sprint(b)
	}
	if dry.Status == 200 && same("canonical") && same("payload_sha256") && same(kind) {
		return 0
	}
	return 1
}

// ofVectors are the receipts of the conformance vectors, with the verdicts that stand there.
func ofVectors(t *testing.T) (samples []sample) {
	f, err := vectors.Read()
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Receipts {
		samples = append(samples, sample{"vector, " + f.Receipts[i].Name, f.Receipts[i].Receipt, 0, ""})
	}
	for i := range f.Verdicts {
		v := &f.Verdicts[i]
		receipt, err := f.Changed(v)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(receipt)
		if err != nil {
			t.Fatal(err)
		}
		s := sample{"verdict, " + v.Name, text, 1, ""}
		switch {
		case v.Result.Valid:
			s.status = 0
		case !v.Result.FieldsMatch:
			s.failed = "fields"
		case !v.Result.HashOK:
			s.failed = "hash"
		}
		samples = append(samples, s)
	}
	return samples
}

// Without a key a program says that it has none, once it needs one; --key gives it one. A file and
// standard input are the same.
func TestArguments(t *testing.T) {
	whole := post(t, "/api/receipt", map[string]string{"note": odd})
	unsigned := edited(t, whole, "signature", "null")
	file := filepath.Join(t.TempDir(), "a receipt.json")
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := edgetest.PublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	for name, program := range write(t, nil) {
		for _, c := range []struct {
			what      string
			input     []byte
			arguments []string
			status    int
			said      string
		}{
			{"no key", whole, nil, 2, "--key"},
			{"no key, and none needed", unsigned, nil, 1, "FAILED signature"},
			{"a key", whole, []string{"--key", published[0]}, 0, "valid receipt"},
			{"two keys", whole, []string{"--key", published[1] + "," + published[0]}, 0, "valid receipt"},
			{"another key", whole, []string{"--key", stranger}, 1, "FAILED key"},
			{"a key and a file", nil, []string{"--key", published[0], file}, 0, "valid receipt"},
			{"a file that is not there", nil, []string{file + "x"}, 2, "No such file"},
			{"help", whole, []string{"--help"}, -1, "2 not checked"},
			{"two files", whole, []string{file, file}, -1, ""},
		} {
			out, faults, status := run(t, name, program, c.input, c.arguments...)
			if said := out + faults; status != c.status && c.status >= 0 || !strings.Contains(strings.ToLower(said), strings.ToLower(c.said)) {
				t.Errorf("%s, %s: status %d, want %d: %s", name, c.what, status, c.status, said)
			}
		}
	}
}

// Signatures are judged as Go judges them: Wycheproof's, many of which are forged with care.
func TestSignatures(t *testing.T) {
	cases := edgetest.Signatures(t)
	var lines [][3]string
	for _, c := range cases {
		lines = append(lines, [3]string{hex.EncodeToString(c.PublicKey), hex.EncodeToString(c.Message), hex.EncodeToString(c.Signature)})
	}
	input, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	program := write(t, nil)["verify.py"]
	cmd := exec.Command("python3", "-c", `
import json, runpy, sys
signed = runpy.run_path(sys.argv[1])["signed"]
print(json.dumps([signed(*map(bytes.fromhex, c)) for c in json.load(sys.stdin)]))`, program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var valid []bool
	if err := json.Unmarshal(out, &valid); err != nil || len(valid) != len(cases) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range cases {
		if valid[i] != c.Valid {
			t.Errorf("case %d: %t, want %t", c.ID, valid[i], c.Valid)
		}
	}
}
