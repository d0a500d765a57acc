package vectors_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/edge/sha256"
	"anteroom/generator/vectors"
)

var update = flag.Bool("update", false, "write canon-v0.json anew")

// maxBytes is how long the published file may be.
const maxBytes = 60 << 10

// The file is what the core makes of the inputs. Nothing that it says of an input ever changes:
// another rule gets another name, and another file.
func TestVectors(t *testing.T) {
	got := write(t, build(t))
	if *update {
		if err := os.WriteFile("canon-v0.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, vectors.CanonV0) {
		at := 0
		for at < min(len(got), len(vectors.CanonV0)) && got[at] == vectors.CanonV0[at] {
			at++
		}
		t.Errorf("at byte %d the core gives %.200s, and the file has %.200s", at, got[at:], vectors.CanonV0[at:])
	}
	if len(got) > maxBytes {
		t.Errorf("%d bytes, and %d are allowed", len(got), maxBytes)
	}
}

// There are at least 20 inputs of each kind, with all that the description promises.
func TestCoverage(t *testing.T) {
	f, err := vectors.Read()
	if err != nil {
		t.Fatal(err)
	}
	twins, names := 0, map[string]bool{}
	for kind, sent := range inputsOf(f) {
		if len(sent) < 20 {
			t.Errorf("%d vectors of %s", len(sent), kind)
		}
		for _, s := range sent {
			if s.Get != "" && s.Post != nil && kind != "refused" {
				twins++
			}
			if names[kind+s.Name] || s.Get == "" && s.Post == nil && s.Body == "" {
				t.Errorf("%s: %q stands twice, or sends nothing", kind, s.Name)
			}
			names[kind+s.Name] = true
		}
	}
	if twins < 20 {
		t.Errorf("%d inputs by GET and by POST", twins)
	}
	valid := 0
	for _, v := range f.Verdicts {
		if v.Result.Valid {
			valid++
		}
	}
	if valid < 5 || len(f.Verdicts)-valid < 20 {
		t.Errorf("%d verdicts, of which %d are valid", len(f.Verdicts), valid)
	}
	text := string(vectors.CanonV0)
	for _, character := range []string{"é", "<", ">", "&", "\u2028", "\u2029", `\\\"`, `\\\\`, "😀", "\ufeff"} {
		if !strings.Contains(text, character) {
			t.Errorf("no vector has %q", character)
		}
	}
}

func inputsOf(f *vectors.File) map[string][]vectors.Sent {
	all := map[string][]vectors.Sent{}
	for _, c := range f.Registrations {
		all["registrations"] = append(all["registrations"], c.Sent)
	}
	for _, c := range f.Charters {
		all["charters"] = append(all["charters"], c.Sent)
	}
	for _, r := range f.Receipts {
		all["receipts"] = append(all["receipts"], r.Sent)
	}
	for _, r := range f.Refused {
		all["refused"] = append(all["refused"], r.Sent)
	}
	return all
}

// The example of the package comment is a vector of the file.
func TestExample(t *testing.T) {
	source, err := os.ReadFile("vectors.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(source), "//\t")
	example, _, _ = strings.Cut(example, "\n//\n")
	example = strings.ReplaceAll(example, "\n//\t", "") // broken there, for the width of a comment
	var c vectors.Commitment
	if err := json.Unmarshal([]byte(example), &c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(vectors.CanonV0), "\n"+example) {
		t.Errorf("the file has no line %s", example)
	}
	if hash := sha256.HexOf(c.Canonical); hash != c.PayloadSHA256 {
		t.Errorf("the hash of the example is %s", hash)
	}
}

// write is the text of the file: a member in a line, and in a list a vector in a line.
func write(t *testing.T, f *vectors.File) []byte {
	var b bytes.Buffer
	encode := func(v any) []byte {
		var line bytes.Buffer
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		// Encode escapes these two always, as older JavaScript needed it.
		text := strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(line.String())
		return []byte(strings.TrimSuffix(text, "\n"))
	}
	lines := func(name string, n int, line func(i int) any) {
		fmt.Fprintf(&b, ",\n%q:[", name)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n%s", encode(line(i)))
		}
		b.WriteString("\n]")
	}
	fmt.Fprintf(&b, "{\n\"description\":%s,\n\"test_keys\":%s", encode(f.Description), encode(f.TestKeys))
	lines("registrations", len(f.Registrations), func(i int) any { return f.Registrations[i] })
	lines("charters", len(f.Charters), func(i int) any { return f.Charters[i] })
	lines("receipts", len(f.Receipts), func(i int) any { return f.Receipts[i] })
	lines("verdicts", len(f.Verdicts), func(i int) any { return f.Verdicts[i] })
	lines("refused", len(f.Refused), func(i int) any { return f.Refused[i] })
	b.WriteString("\n}\n")
	return b.Bytes()
}

// build has the core answer all inputs.
func build(t *testing.T) *vectors.File {
	key := func(k ed25519.PrivateKey) vectors.Key {
		return vectors.Key{Seed: hex.EncodeToString(k.Seed()), PublicKey: edgetest.PublicKey(k)}
	}
	f := &vectors.File{
		Description: description,
		TestKeys: vectors.TestKeys{
			Warning: "For tests only: the secrets are public. Anyone can sign with these keys, and no service may use them.",
			Current: key(edgetest.Key), Retired: key(edgetest.RetiredKey),
		},
	}
	for _, s := range registrations {
		f.Registrations = append(f.Registrations, commit(t, "/api/waitlist", s))
	}
	for _, s := range charters {
		f.Charters = append(f.Charters, commit(t, "/api/org", s))
	}
	for _, s := range receipts {
		f.Receipts = append(f.Receipts, vectors.Receipt{Sent: s, Receipt: mint(t, s)})
	}
	for _, c := range changes {
		f.Verdicts = append(f.Verdicts, judge(t, f, c))
	}
	for _, r := range refused {
		r.Faults = refuse(t, r)
		f.Refused = append(f.Refused, r)
	}
	return f
}

// forms are the requests that send an input: method, target and body of each.
func forms(path string, s vectors.Sent) (requests [][3]string) {
	if s.Post != nil {
		requests = append(requests, [3]string{"POST", path, string(s.Post)})
	}
	if s.Body != "" {
		requests = append(requests, [3]string{"POST", path, s.Body})
	}
	if s.Get != "" {
		requests = append(requests, [3]string{"GET", path + "?" + s.Get, ""})
	}
	return requests
}

func commit(t *testing.T, path string, s vectors.Sent) (c vectors.Commitment) {
	c.Sent = s
	for _, r := range forms(path, s) {
		answer := edgetest.NewFake(t).Do(r[0], r[1], r[2])
		if answer.Status != 200 {
			t.Fatalf("%s: %d %s", s.Name, answer.Status, answer.Body)
		}
		body := edgetest.Decode(t, answer)
		canonical, _ := body["canonical"].(string)
		if c.Canonical != "" && c.Canonical != canonical {
			t.Errorf("%s: %s by %s, and %s otherwise", s.Name, canonical, r[0], c.Canonical)
		}
		c.Canonical, c.PayloadSHA256 = canonical, body["payload_sha256"].(string)
	}
	return c
}

// kept are the members of a receipt that a vector has: all that a verification checks.
var kept = slices.Concat(canon.ReceiptFields, []string{"canonical", "payload_sha256", "signed", "signature", "public_key_b64"})

func mint(t *testing.T, s vectors.Sent) (receipt json.RawMessage) {
	for _, r := range forms("/api/receipt", s) {
		answer := edgetest.NewFake(t).Do(r[0], r[1], r[2])
		if answer.Status != 200 {
			t.Fatalf("%s: %d %s", s.Name, answer.Status, answer.Body)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(answer.Body, &members); err != nil {
			t.Fatal(err)
		}
		text := "{"
		for i, name := range kept {
			if i > 0 {
				text += ","
			}
			text += fmt.Sprintf("%q:%s", name, members[name])
		}
		if receipt != nil && string(receipt) != text+"}" {
			t.Errorf("%s: %s, and in another form %s", s.Name, receipt, text)
		}
		receipt = json.RawMessage(text + "}")
	}
	return receipt
}

// change is what a verdict is about, before it is judged. Where commits is set, canonical and hash
// are made anew from the changed fields; signer signs the canonical string, where there is one.
type change struct {
	name, of string
	set      map[string]any
	remove   []string
	commits  bool
	signer   ed25519.PrivateKey
}

func judge(t *testing.T, f *vectors.File, c change) vectors.Verdict {
	v := vectors.Verdict{Name: c.name, Of: c.of, Remove: c.remove, Set: map[string]json.RawMessage{}}
	set := func(name string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		v.Set[name] = text
	}
	for name, value := range c.set {
		switch value {
		case upper:
			value = strings.ToUpper(memberOf(t, f, c.of, name))
		case another:
			value = memberOf(t, f, f.Receipts[0].Name, name)
		}
		set(name, value)
	}
	changed := func() map[string]json.RawMessage {
		receipt, err := f.Changed(&v)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	if c.commits {
		canonical := canon.Receipt(func(field string) (text string) {
			_ = json.Unmarshal(changed()[field], &text)
			return text
		})
		set("canonical", canonical)
		set("payload_sha256", sha256.HexOf(canonical))
	}
	if c.signer != nil {
		var canonical string
		if err := json.Unmarshal(changed()["canonical"], &canonical); err != nil {
			t.Fatal(err)
		}
		set("signature", base64.StdEncoding.EncodeToString(ed25519.Sign(c.signer, []byte(canonical))))
		if _, given := c.set["public_key_b64"]; !given {
			set("public_key_b64", edgetest.PublicKey(c.signer))
		}
	}
	body, err := json.Marshal(map[string]any{"verify": changed()})
	if err != nil {
		t.Fatal(err)
	}
	answer := edgetest.NewFake(t).Do("POST", "/api/receipt", string(body))
	if answer.Status != 200 {
		t.Fatalf("%s: %d %s", c.name, answer.Status, answer.Body)
	}
	if err := json.Unmarshal(answer.Body, &v.Result); err != nil {
		t.Fatal(err)
	}
	return v
}

// memberOf is the text of a member of the receipt with this name.
func memberOf(t *testing.T, f *vectors.File, of, name string) (text string) {
	receipt, err := f.Changed(&vectors.Verdict{Of: of})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(receipt[name], &text); err != nil {
		t.Fatal(err)
	}
	return text
}

func refuse(t *testing.T, r vectors.Refusal) (faults []string) {
	for _, form := range forms(r.Endpoint, r.Sent) {
		answer := edgetest.NewFake(t).Do(form[0], form[1], form[2])
		if answer.Status != 400 {
			t.Fatalf("%s: %d %s", r.Name, answer.Status, answer.Body)
		}
		found := edgetest.Faults(t, answer)
		for i := range found {
			found[i] = strings.TrimSpace(found[i])
		}
		if faults != nil && !slices.Equal(faults, found) {
			t.Errorf("%s: %q by %s, and %q otherwise", r.Name, found, form[0], faults)
		}
		faults = found
	}
	return faults
}
