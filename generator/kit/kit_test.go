//go:build full

package kit_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/generator/kit"
	"anteroom/generator/vectors"
)

// The programs, with what runs each of them.
var programs = map[string]string{"verify.py": "python3", "verify.mjs": "node"}

// published are the keys that the service in memory verifies with.
var published = []string{
	edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey) + "@2026-01-01..2026-11-20",
	edgetest.PublicKey(edgetest.OlderKey) + "@2025-01-01..2025-12-31",
}

// write fills a program in for a service at a base URL, and gives its file.
func write(t *testing.T, name, base string, keys []string, logKey string) string {
	t.Helper()
	if _, err := exec.LookPath(programs[name]); err != nil {
		t.Fatalf("the verify kit cannot be tested without %s: install it (Debian: apt-get install python3 nodejs openssl)", programs[name])
	}
	text, err := kit.Program(name, base, keys, logKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// question is an input of a program, with what the program must say.
type question struct {
	name      string
	input     []byte
	arguments []string
	hasty     bool   // whether a file may take no more than a moment
	status    int    // 0 valid, 1 not valid, 2 nothing to check; or either
	failed    string // the step that fails; "" if the test does not say
	last      string // the last line that is printed; "" if the test does not say
	says      string // what is printed too
}

// either is the status of a question to which a program must not say yes: 1 or 2.
const either = -1

// answer is what a program says, and its exit status.
type answer struct {
	Out, Faults string
	Status      int
}

// run runs a program in a process of its own.
func run(t *testing.T, name, file string, input []byte, arguments ...string) (a answer) {
	t.Helper()
	cmd := exec.Command(programs[name], append([]string{file}, arguments...)...)
	var out, faults bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &faults
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		a.Status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	a.Out, a.Faults = out.String(), faults.String()
	return a
}

// drivers put all questions to a program in one process: to start an interpreter takes much longer
// than to check a receipt.
var drivers = map[string][]string{
	"verify.py": {"-c", `
import contextlib, io, json, runpy, sys
main, answers = runpy.run_path(sys.argv[2])["main"], []
for q in json.load(sys.stdin):
    main.__globals__["SECONDS"] = 0.3 if q["Hasty"] else 20
    sys.stdin = io.TextIOWrapper(io.BytesIO(bytes.fromhex(q["Input"])))
    sys.argv = ["verify.py"] + (q["Arguments"] or [])
    out, faults, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(faults):
        try: main()
        except SystemExit as end: status = end.code or 0
    answers.append({"Out": out.getvalue(), "Faults": faults.getvalue(), "Status": status})
print(json.dumps(answers))`},
	"verify.mjs": {"--input-type=module", "-e", `
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
const { KEYS, read, check, counted, promised } = await import(pathToFileURL(process.argv[2]));
const later = globalThis.setTimeout, answers = [], type = "string";
for (const q of JSON.parse(readFileSync(0))) {
  globalThis.setTimeout = (f, ms, ...rest) => later(f, q.Hasty && ms === 20000 ? 300 : ms, ...rest);
  const a = { Out: "", Faults: "", Status: 0 };
  const say = (ok) => ok === undefined ? "" : ok ? "ok     " : "FAILED ";
  const show = (name, what, ok) => { a.Out += say(ok) + name + ": " + what + "\n"; return ok; };
  try {
    const options = { log: { type }, "log-key": { type } };
    const { values } = parseArgs({ options, args: q.Arguments ?? [] });
    const given = read(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(q.Input, "hex")));
    if (values["log-key"] === undefined) {
      const day = given.kind === "receipt" ? undefined : promised(given).counted_by;
      const until = day ? ", promised to be counted by " + day : "";
      if (await check(given, KEYS, show)) a.Out += "valid " + given.kind + until + "\n"; else a.Status = 1;
    } else {
      const c = await counted(given, { log: values.log, logKey: values["log-key"] }, show);
      if (c) a.Out += "counted " + c.kind + " by " + c.date + ", entry " + c.index + " of " + c.size + "\n";
      else a.Status = 1;
    }
  } catch (fault) { a.Faults = fault.message; a.Status = 2; }
  answers.push(a);
}
console.log(JSON.stringify(answers));`},
}

// drive puts all questions to a program.
func drive(t *testing.T, name, file string, questions []question) (answers []answer) {
	t.Helper()
	var inputs []any
	for _, q := range questions {
		inputs = append(inputs, struct {
			Input     string
			Arguments []string
			Hasty     bool
		}{hex.EncodeToString(q.input), q.arguments, q.hasty})
	}
	input, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(programs[name], append(slices.Clone(drivers[name]), "driver", file)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &answers)
	}
	if err != nil || len(answers) != len(questions) {
		t.Fatalf("%s: %d answers to %d questions: %v", name, len(answers), len(questions), err)
	}
	return answers
}

// compare puts all questions to verify.py and verify.mjs, and compares what they say with what they
// must, and with each other.
func compare(t *testing.T, questions []question) {
	t.Helper()
	compareWith(t, questions, published, "key")
}

func compareWith(t *testing.T, questions []question, keys []string, logKey string) (python []answer) {
	t.Helper()
	for _, name := range []string{"verify.py", "verify.mjs"} {
		answers := drive(t, name, write(t, name, "https://www.example.org", keys, logKey), questions)
		if python == nil {
			python = answers
		}
		for i := range questions {
			questions[i].compare(t, name, answers[i], python[i])
		}
	}
	return python
}

func (q *question) compare(t *testing.T, name string, got, python answer) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(got.Out, "\n"), "\n")
	switch {
	case q.status == either && got.Status == 0, q.status != either && got.Status != q.status,
		(got.Status == 2) != (got.Faults != ""), strings.Contains(got.Faults, "Traceback"),
		q.failed != "" && !strings.HasSuffix(failing(got.Out), q.failed), q.last != "" && lines[len(lines)-1] != q.last, !strings.Contains(got.Out, q.says),
		strings.HasPrefix(lines[len(lines)-1], "FAILED") && !negative.MatchString(lines[len(lines)-1]),
		got.Status != 2 && got.Out != python.Out, got.Status != python.Status,
		strings.Contains(got.Faults, "unverified: ") != strings.Contains(python.Faults, "unverified: "):
		t.Errorf("%s, %s: status %d, want %d %s %s\n%s%s\nand verify.py %d\n%s%s",
			q.name, name, got.Status, q.status, q.failed, q.last, got.Out, got.Faults, python.Status, python.Out, python.Faults)
	}
}

// negative is a step that fails, and reads so.
var negative = regexp.MustCompile(`(^| )not |set apart`)

// failing is the name of the step that a program prints as failed.
func failing(out string) string {
	_, rest, _ := strings.Cut(out, "FAILED ")
	name, _, _ := strings.Cut(rest, ":")
	return name
}

// Both programs give the verdict of the service on every kind of input, and print the same.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	questions := slices.Concat(receipts(t), commitments(t), ofVectors(t, vectors.CanonV0), ofVectors(t, vectors.PromiseV0), texts(t))
	outcomes := map[int]int{}
	for _, q := range questions {
		outcomes[q.status]++
	}
	for status := range 3 {
		if outcomes[status] < 15 {
			t.Errorf("%d questions with the status %d", outcomes[status], status)
		}
	}
	compare(t, questions)
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
func receipts(t *testing.T) (questions []question) {
	add := func(name, failed string, input []byte) {
		questions = append(questions, question{name: "receipt, " + name, input: input, status: service(t, input), failed: failed})
	}
	whole := post(t, "/api/receipt", map[string]string{"agent_name": odd, "note": odd + "\t\r\n", "owner_email": "owner@example.org"})
	plain := post(t, "/api/receipt", map[string]string{})
	var members map[string]any
	if err := json.Unmarshal(whole, &members); err != nil {
		t.Fatal(err)
	}
	text := func(name string) string { s, _ := members[name].(string); return s }

	add("as received", "", whole)
	questions = append(questions, question{name: "receipt, in a file with a byte order mark", input: append([]byte("\ufeff"), whole...)})
	add("escaped as ASCII", "", ascii(whole))
	add("with odd members", "", edited(t, plain, "__proto__", `{"note":"x"}`, "constructor", "1", "toString", "null", "receipt", "{}", "x y", `["\"",{}]`, "", "-0.5e+3"))

	// What a member may be besides what the vectors have.
	signature := text("signature")
	for name, values := range map[string][]string{
		"signature": {
			quoted(signature[:84]), quoted(signature + "=="), quoted(signature[:44] + "\n" + signature[44:]), quoted(strings.Repeat("-", 86) + "=="), quoted(signature[:85] + "/=="), "7",
		},
		"public_key_b64": {"[]", quoted(" " + published[0]), quoted(published[1]), quoted(published[0] + "," + published[1])},
	} {
		for _, value := range values {
			add(name+" "+value, "", edited(t, whole, name, value))
		}
	}
	for _, blank := range []string{
		`" \t\r\n"`, `"\u00a0"`, `"\u2003"`, `"\u000b"`, `"\u0085"`, `"\u001c"`, `"\ufeff"`, `"\u3000"`, `"\u200b"`, `"\u2800"`, `"\u115f"`,
		`"\u2010"`, `"\u2027"`, `"\u2070"`, `"\u1161"`, `"\ufff9"`, `"\udb43\udfff"`, `"\udb44\udc00"`,
	} {
		add("a key of "+blank, "", edited(t, whole, "public_key_b64", blank))
	}
	add("a long number", "", edited(t, plain, "x", strings.Repeat("9", 5000)))
	for _, inner := range []string{"", "1"} { // the service reads one level more, that of verify
		for levels, status := range map[int]int{32: 0, 33: 2} {
			nested := strings.Repeat("[", levels-1) + inner + strings.Repeat("]", levels-1)
			questions = append(questions, question{name: fmt.Sprint(levels, " levels"), input: edited(t, plain, "x", nested), status: status})
		}
	}
	add("empty", "fields", []byte("{}"))
	for issued, key := range map[string]ed25519.PrivateKey{
		"2026-01-01T00:00:00Z": edgetest.RetiredKey, "2025-12-31T23:59:59Z": edgetest.RetiredKey, "2026-11-21T00:00:00Z": edgetest.RetiredKey, "2026-11": edgetest.RetiredKey,
		time.Now().UTC().Add(10 * time.Minute).Format("2006-01-02T15:04:05Z"): edgetest.Key, "2999-01-01T00:00:00Z": edgetest.Key, "2025-06-01T00:00:00Z": edgetest.OlderKey, "2026-06-01T00:00:00Z": edgetest.OlderKey, "7": edgetest.Key,
	} {
		canonical := strings.Replace(members["canonical"].(string), text("issued_at"), issued, 1)
		add("issued at "+issued, map[bool]string{true: "key"}[service(t, signedBy(t, whole, canonical, issued, key)) == 1], signedBy(t, whole, canonical, issued, key))
	}

	for name, input := range map[string]string{
		"no text": "", "no JSON": "receipt", "cut off": string(whole[:len(whole)-1]), "trailing data": string(plain) + "{}",
		"a comment": "{/**/}", "NaN": `{"a":NaN}`, "a leading zero": `{"a":01}`, "a trailing comma": `{"a":1,}`,
		"not UTF-8": `{"a":"` + "\xff" + `"}`, "overlong UTF-8": `{"a":"` + "\xc0\x80" + `"}`, "a surrogate in UTF-8": `{"a":"` + "\xed\xa0\x80" + `"}`,
		"a raw line feed": "{\"a\":\"\n\"}", "a bad escape": `{"a":"\x41"}`, "an unpaired surrogate": `{"a":"\ud83d"}`, "a surrogate in a name": `{"\ud800":1}`,
		"a name twice, once escaped": `{"\u006eote":"a",` + string(plain[1:]), "a name twice, deeper": `{"x":[{"a":1,"a":1}],` + string(plain[1:]),
		"an array": "[]", "a string": `"receipt_spec"`, "null": "null", "verify an array": `{"verify":[]}`,
	} {
		if status := service(t, []byte(input)); status != 2 && name != "no text" {
			t.Errorf("the service answers %s", name)
		}
		questions = append(questions, question{name: "not a receipt, " + name, input: []byte(input), status: 2})
	}
	return questions
}

// signedBy is a receipt with another time, which a key has signed.
func signedBy(t *testing.T, receipt []byte, canonical, issued string, key ed25519.PrivateKey) []byte {
	hash := sha256.Sum256([]byte(canonical))
	return edited(t, receipt, "issued_at", quoted(issued), "canonical", quoted(canonical), "payload_sha256", quoted(hex.EncodeToString(hash[:])),
		"signature", quoted(base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(canonical)))), "public_key_b64", quoted(edgetest.PublicKey(key)))
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

// commitments are registrations and charters, good ones and such with every kind of change.
func commitments(t *testing.T) (questions []question) {
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
			q := question{name: kind + ", " + name, input: input, failed: failed}
			if failed != "" {
				q.status = 1
			}
			questions = append(questions, q)
		}
		add("as received", "", whole)
		add("escaped as ASCII", "", ascii(whole))
		add("with another member", "", edited(t, whole, "x", `{"a":[]}`))
		for _, name := range slices.Sorted(maps.Keys(c.changes)) {
			for _, value := range c.changes[name] {
				add(name+" "+value, "fields", edited(t, whole, kind, string(edited(t, members[kind], name, value))))
			}
		}
		for _, value := range []string{"null", "[]", `"x"`} {
			add(value, "fields", edited(t, whole, kind, value))
			add("canonical "+value, "fields", edited(t, whole, "canonical", value))
		}
		for _, value := range []string{"{}", "[]", `"x"`, "7"} {
			add("a promise of "+value, "promise", edited(t, whole, "promise", value))
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
		for old, replaced := range map[string]string{ // in the roster
			":5": ":5.0", ":6": ":6e0", ":7": ":1" + strings.Repeat("0", 21), `"position":"scout",`: "", "[": `[{"position":"scout","agent_name":"x","allocation":5},`,
		} {
			add(old+" as "+replaced, "fields", edited(t, whole, kind, strings.Replace(string(members[kind]), old, replaced, 1)))
		}
	}
	return questions
}

// ofVectors are the receipts, or the answers with promises, of conformance vectors, with their
// verdicts.
func ofVectors(t *testing.T, text []byte) (questions []question) {
	var f struct {
		Receipts, Promises []struct {
			Name            string
			Receipt, Answer json.RawMessage
		}
		Verdicts []struct {
			Name, Of string
			Set      map[string]json.RawMessage
			Remove   []string
			Verdict  json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, v := range slices.Concat(f.Receipts, f.Promises) {
		texts[v.Name] = slices.Concat(v.Receipt, v.Answer)
		questions = append(questions, question{name: "vector, " + v.Name, input: texts[v.Name]})
	}
	for _, v := range f.Verdicts {
		var changes []string
		for name, value := range v.Set {
			changes = append(changes, name, string(value))
		}
		for _, name := range v.Remove {
			changes = append(changes, name, "")
		}
		q := question{name: "verdict, " + v.Name, input: edited(t, texts[v.Of], changes...), status: 1}
		var of struct {
			Valid       bool
			FieldsMatch bool `json:"fields_match"`
			HashOK      bool `json:"hash_ok"`
		}
		switch status, is := map[string]int{`"valid"`: 0, `"invalid"`: 1, `"unverified"`: 2}[string(v.Verdict)]; {
		case is:
			q.status = status
		case json.Unmarshal(v.Verdict, &of) != nil:
			t.Fatalf("%s: %s", v.Name, v.Verdict)
		case of.Valid:
			q.status = 0
		case !of.FieldsMatch:
			q.failed = "fields"
		case !of.HashOK:
			q.failed = "hash"
		}
		questions = append(questions, q)
	}
	return questions
}

// texts are promises whose texts the key has signed, and which are not the canonical ones of their
// records, or stand in an answer that says something else.
func texts(t *testing.T) (questions []question) {
	whole := post(t, "/api/waitlist", map[string]string{"agent_name": odd})
	var members struct{ Promise map[string]json.RawMessage }
	if err := json.Unmarshal(whole, &members); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(members.Promise["text"], &text); err != nil {
		t.Fatal(err)
	}
	answer := func(text string, changes ...string) []byte {
		promise := maps.Clone(members.Promise)
		promise["text"] = json.RawMessage(quoted(text))
		promise["signature"] = json.RawMessage(quoted(base64.StdEncoding.EncodeToString(ed25519.Sign(edgetest.Key, []byte(text)))))
		whole, _ := json.Marshal(promise)
		return edited(t, edited(t, whole, changes...), "x", "")
	}
	add := func(name string, status int, promise []byte, changes ...string) {
		q := question{name: "signed text, " + name, input: edited(t, whole, append([]string{"promise", string(promise)}, changes...)...), status: status}
		if status == 1 {
			q.failed = "promise"
		}
		questions = append(questions, q)
	}
	add("as received", 0, answer(text))
	due := regexp.MustCompile(`"counted_by":"[^"]*"`).FindString(text)
	for name, replaced := range map[string]string{
		"a day that is a number": strings.Replace(text, due, `"counted_by":5`, 1), "an escape in the day": strings.Replace(text, due, `"counted_by":"2026-12-20\u001b[1m"`, 1),
		"a line feed more": text + "\n", "without a log": strings.Replace(text, `,"log":null`, "", 1), "a size without a log": strings.Replace(text, `"size":null`, `"size":5`, 1),
		"another order":      strings.Replace(strings.Replace(text, `"size":null,`, "", 1), `"root":null`, `"root":null,"size":null`, 1),
		"a log that is true": strings.Replace(text, `"log":null,"size":null,"root":null`, `"log":true,"size":1,"root":""`, 1), "no object": "[]", "no JSON": "soon",
	} {
		if replaced == text {
			t.Fatalf("%s changes nothing", name)
		}
		add(name, 1, answer(replaced))
	}
	add("a day before the record", 1, answer(strings.Replace(text, due, `"counted_by":"2020-01-01"`, 1)))
	add("another spec", 0, answer(text, "spec", `"other"`))
	for _, key := range []string{"", "null", `""`, "7", "[]", `"\u00a0"`} {
		add("public_key_b64 "+key, 2, answer(text, "public_key_b64", key))
	}
	add("not recorded", 0, answer(text), "recorded", "false")
	return questions
}

// Without a key a program says that it has none, once it needs one; --receipt-key gives it one. A
// file and standard input are the same.
func TestArguments(t *testing.T) {
	t.Parallel()
	whole := post(t, "/api/receipt", map[string]string{"note": odd})
	file := filepath.Join(t.TempDir(), "a receipt.json")
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	promised := post(t, "/api/waitlist", map[string]string{"agent_name": odd})
	stranger := edgetest.PublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	for name := range programs {
		program := write(t, name, "https://www.example.org", nil, "")
		for _, c := range []struct {
			what      string
			input     []byte
			arguments []string
			status    int
			said      string
		}{
			{"no key", whole, nil, 2, "--receipt-key"},
			{"no key for a promise", promised, nil, 2, "--receipt-key"},
			{"two keys", whole, []string{"--receipt-key", published[1] + "," + published[0]}, 0, "valid receipt"},
			{"another key", whole, []string{"--receipt-key", stranger}, 1, "failed key"},
			{"a file that is not there", nil, []string{file + "x"}, 2, "no such file"},
			{"help", whole, []string{"--help"}, either, "2 not checked"},
			{"a key of another form", whole, []string{"--receipt-key", "x"}, 2, ""},
		} {
			a := run(t, name, program, c.input, c.arguments...)
			if said := a.Out + a.Faults; a.Status != c.status && c.status != either || !strings.Contains(strings.ToLower(said), c.said) {
				t.Errorf("%s, %s: status %d, want %d: %s", name, c.what, a.Status, c.status, said)
			}
		}
	}
}

// Retired keys count where there is no current one, for their days. A key that the documents do not
// name may be the host's: nothing is said against what it signed. The service without a key of its
// own calls the same receipts valid.
func TestRetiredAlone(t *testing.T) {
	t.Parallel()
	retired, revoked, unnamed := edgetest.RetiredKey, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize)), edgetest.Key
	keys := []string{published[1], published[2], edgetest.PublicKey(revoked) + "@revoked"}
	s := edgetest.Snapshot()
	h := &edgetest.Fake{Key: retired, Left: 30}
	h.Host.PublicKey, s.CurrentKey = edgetest.PublicKey(retired), edgetest.PublicKey(retired)
	s.RetiredKeys = nil
	h.Edge = edgetest.Load(t, s)
	receipt, registration := h.Do("POST", "/api/receipt", "{}").Body, h.Do("POST", "/api/waitlist", `{"agent_name":"tern"}`).Body
	s = edgetest.Snapshot()
	s.CurrentKey = ""
	s.RetiredKeys = append(s.RetiredKeys, snapshot.Key{PublicKey: edgetest.PublicKey(revoked), RetiredOn: "2026-11-20", Revoked: "it leaked"})
	h = &edgetest.Fake{Edge: edgetest.Load(t, s)}
	at := func(issued string, key ed25519.PrivateKey) []byte {
		var o map[string]any
		if err := json.Unmarshal(receipt, &o); err != nil {
			t.Fatal(err)
		}
		return signedBy(t, receipt, strings.Replace(o["canonical"].(string), o["issued_at"].(string), issued, 1), issued, key)
	}
	const day, unverified = "2026-11-20T12:00:00Z", "unverified: the documents of this service do not name its key"
	var questions []question
	var faults []string
	for _, c := range []struct {
		name   string
		input  []byte
		status int
		failed string
		fault  string
	}{
		{"the retired key", receipt, 0, "", ""},
		{"the retired key, later", at("2026-11-21T12:00:00Z", retired), 1, "key", ""},
		{"the revoked key", at(day, revoked), 1, "key", ""},
		{"a key that is not named", at(day, unnamed), 2, "", unverified},
		{"no key", edited(t, receipt, "public_key_b64", `""`), 2, "", unverified},
		{"an edit under a key that is not named", edited(t, at(day, unnamed), "note", `"x"`), 1, "fields", ""},
		{"a promise", registration, 0, "", ""},
		{"a promise under a key that is not named", post(t, "/api/waitlist", map[string]string{"agent_name": "tern"}), 2, "", unverified},
	} {
		questions = append(questions, question{name: c.name, input: c.input, status: c.status, failed: c.failed})
		faults = append(faults, c.fault)
		if strings.Contains(c.name, "promise") {
			continue // the service checks receipts only
		}
		answer := edgetest.Decode(t, h.Do("POST", "/api/receipt", `{"verify":`+string(c.input)+`}`))
		if answer["valid"] != (c.status == 0) {
			t.Errorf("%s: the service says %v", c.name, answer)
		}
	}
	for i, answer := range compareWith(t, questions, keys, "") {
		if !strings.HasSuffix(strings.TrimSpace(answer.Faults), faults[i]) {
			t.Errorf("%s: %q, want %q", questions[i].name, answer.Faults, faults[i])
		}
	}
}

// verify.mjs is the program under whatever name it has, however it is started.
func TestNames(t *testing.T) {
	t.Parallel()
	program := write(t, "verify.mjs", "https://www.example.org", published, "")
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	changed := edited(t, post(t, "/api/receipt", map[string]string{}), "note", `"another"`)
	err = errors.Join(os.WriteFile(filepath.Join(folder, "receipt"), changed, 0o600),
		os.WriteFile(filepath.Join(folder, "v é#? (1).mjs"), text, 0o600), os.Symlink(program, filepath.Join(folder, "link.mjs")))
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"./v é#? (1).mjs", "receipt"},
		{"link.mjs", "receipt"},
		{"--input-type=module", "-", "receipt"},
		{"--input-type=module", "-e", string(text), "--", "receipt"},
	} {
		cmd := exec.Command("node", arguments...)
		cmd.Dir, cmd.Stdin = folder, bytes.NewReader(text)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() == 0 || !strings.Contains(string(out), "FAILED fields") && !slices.Contains(arguments, "-e") {
			t.Errorf("node %.100q: %d %s", arguments, cmd.ProcessState.ExitCode(), out)
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
	program := write(t, "verify.py", "https://www.example.org", nil, "")
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
