package receipt_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/sha256"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

func mint(t *testing.T, h *edgetest.Fake, body string) map[string]any {
	t.Helper()
	r := h.Do("POST", "/api/receipt", body)
	if r.Status != 200 {
		t.Fatalf("mint: %d %s", r.Status, r.Body)
	}
	return edgetest.Decode(t, r)
}

func verify(t *testing.T, h *edgetest.Fake, r map[string]any) (v receipt.Verdict) {
	t.Helper()
	sent, err := json.Marshal(map[string]any{"verify": r})
	if err != nil {
		t.Fatal(err)
	}
	return verifyText(t, h, string(sent))
}

func verifyText(t *testing.T, h *edgetest.Fake, sent string) (v receipt.Verdict) {
	t.Helper()
	answer := h.Do("POST", "/api/receipt", sent)
	if answer.Status != 200 {
		t.Fatalf("verify: %d %s", answer.Status, answer.Body)
	}
	if err := json.Unmarshal(answer.Body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// canonicalOf rebuilds the canonical string of a receipt from its fields.
func canonicalOf(r map[string]any) string {
	var values []string
	for _, field := range canon.ReceiptFields {
		s, _ := r[field].(string)
		values = append(values, s)
	}
	return canon.Receipt(values...)
}

func word(b *bool) string {
	if b == nil {
		return "null"
	}
	return map[bool]string{true: "true", false: "false"}[*b]
}

// What a host mints, says and verifies follows from its key and from what the content publishes.
func TestKeyStates(t *testing.T) {
	ours, retired := edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey)
	signed := mint(t, edgetest.NewFake(t), "{}")
	for _, test := range []struct {
		name, host, content string
		fault               bool
		state               signing.KeyState
		minted              string // whether receipts are signed; "" where none is minted
		status, checked     string
		valid               bool // whether a receipt that the key of the host signed is valid
	}{
		{"the published key", ours, ours, false, signing.Live, "true", "live: ", ours, true},
		{"no key", "", "", false, signing.None, "false", "hash-committed only: no signing key", "", false},
		{"a published key that is missing", "", ours, false, signing.Missing, "false", "hash-committed only: this host lacks", ours, true},
		{"a retired key", retired, "", false, signing.Foreign, "", "out of order: .* differs", retired, false},
		{"a faulty key", "", ours, true, signing.Faulty, "", "out of order: .* cannot be used", ours, true},
		{"a faulty key that is not published", "", "", true, signing.Faulty, "", "out of order: .* cannot be used", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, h := edgetest.Snapshot(), edgetest.NewFake(t)
			s.CurrentKey, h.Host.PublicKey, h.Host.KeyFault = test.content, test.host, test.fault
			h.Edge = edgetest.Load(t, s)
			if got := signing.KeyStateOf(&h.Host, s); got != test.state {
				t.Errorf("state %d, want %d", got, test.state)
			}
			status := regexp.MustCompile("^" + test.status)
			spec := edgetest.Decode(t, h.Do("GET", "/api/receipt", ""))
			key, live := test.host, test.minted == "true"
			if !live {
				key = ""
			}
			if spec["signing_live"] != live || spec["public_key_b64"] != key || !status.MatchString(spec["signing_status"].(string)) {
				t.Errorf("%v", spec)
			}
			r := h.Do("POST", "/api/receipt", "{}")
			answer := edgetest.Decode(t, r)
			switch detail, _ := answer["detail"].(string); {
			case test.minted == "":
				if r.Status != 500 || answer["canonical"] != nil || !strings.Contains(detail, spec["signing_status"].(string)) || !strings.Contains(r.Log, "out of order") || len(h.Signed) > 0 {
					t.Errorf("%d %s, log %q", r.Status, r.Body, r.Log)
				}
			case r.Status != 200 || fmt.Sprint(answer["signed"]) != test.minted || answer["public_key_b64"] != key || answer["signing_status"] != spec["signing_status"] || r.Log != "":
				t.Errorf("%d %s, log %q", r.Status, r.Body, r.Log)
			}
			if v := verify(t, h, signed); v.Valid != test.valid || v.CheckedKey != test.checked {
				t.Errorf("%+v", v)
			}
			if test.minted == "" {
				return
			}
			if v := verify(t, h, answer); len(v.Problems) > 0 {
				t.Errorf("a fresh receipt: %q", v.Problems)
			}
		})
	}
}

// A signature that cannot be checked is no verdict.
func TestVerifyFailure(t *testing.T) {
	h := edgetest.NewFake(t)
	r := mint(t, h, "")
	h.Fail = map[string]turn.Failure{"verify": turn.Timeout}
	sent, _ := json.Marshal(map[string]any{"verify": r})
	if r := h.Do("POST", "/api/receipt", string(sent)); r.Status != 500 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	keyless := edgetest.Snapshot()
	keyless.CurrentKey, h.Host.PublicKey, r["public_key_b64"] = "", "", ""
	h.Edge = edgetest.Load(t, keyless)
	if v := verify(t, h, r); v.Valid || v.CheckedKey != "" || !slices.Contains(v.Problems, "this host publishes no key to check the signature against") {
		t.Errorf("%+v", v)
	}
}

func TestVerdicts(t *testing.T) {
	sign := func(r map[string]any, key ed25519.PrivateKey) {
		c := canonicalOf(r)
		r["canonical"], r["payload_sha256"] = c, sha256.HexOf(c)
		r["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(c)))
	}
	at := func(issued string, key ed25519.PrivateKey) func(map[string]any) {
		return func(r map[string]any) {
			r["issued_at"], r["public_key_b64"] = issued, edgetest.PublicKey(key)
			sign(r, key)
		}
	}
	seed := func(b byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, 32)) }
	stranger, older, revoked := seed(0), seed(3), seed(4)
	published := edgetest.Snapshot()
	published.RetiredKeys = append(published.RetiredKeys, snapshot.Key{PublicKey: edgetest.PublicKey(older), RetiredOn: "2026-11-17"},
		snapshot.Key{PublicKey: edgetest.PublicKey(revoked), RetiredOn: "2026-11-17", Revoked: "it leaked"})
	for _, c := range []struct {
		name    string
		change  func(r map[string]any)
		checks  string // fields_match hash_ok signature_ok
		verdict string // its first words
		problem string // part of one of the problems
	}{
		{"a field edited", func(r map[string]any) { r["agent_name"] = "eve" }, "false true true", "TAMPERED", "edited after minting"},
		{"canonical edited", func(r map[string]any) { r["canonical"] = strings.Replace(r["canonical"].(string), "ada", "eve", 1) }, "false false false", "TAMPERED", "does not match canonical"},
		{"hash edited", func(r map[string]any) { r["payload_sha256"] = strings.Repeat("0", 64) }, "true false true", "TAMPERED", "does not match canonical"},
		{"a stranger's receipt", func(r map[string]any) { sign(r, stranger); r["public_key_b64"] = edgetest.PublicKey(stranger) }, "true true false", "Not valid: the receipt names a key", "not a key that this host publishes"},
		{"a clock that is ahead", at("2026-11-20T12:05:00Z", edgetest.Key), "true true true", "Valid", ""},
		{"the first second of a retired key", at("2026-01-01T00:00:00Z", edgetest.RetiredKey), "true true true", "Valid", ""},
		{"the last second of a retired key", at("2026-11-17T23:59:59Z", older), "true true true", "Valid", ""},
		{"after a retired key", at("2026-11-18T00:00:00Z", older), "true true false", "Not valid: the key was not valid", "after 2026-11-17, when"},
		{"a revoked key", at("2026-11-17T12:00:00Z", revoked), "true true false", "Not valid: the key was not valid", "a revoked key: it leaked"},
		{"a retired key that signed nothing", func(r map[string]any) {
			at("2027-11-17T12:00:00Z", older)(r)
			r["signature"], r["signed"] = nil, false
		}, "true true null", "Hash intact", "not signed"},
		{"the key left out", func(r map[string]any) { delete(r, "public_key_b64") }, "true true true", "Valid", "public_key_b64 is missing"},
		{"the signature null", func(r map[string]any) { r["signature"] = nil }, "true true null", "Hash intact", "signed contradicts"},
		{"the signature left out", func(r map[string]any) { delete(r, "signature") }, "true true null", "Hash intact", "signature is missing"},
		{"the signature a number", func(r map[string]any) { r["signature"] = 7 }, "true true false", "TAMPERED or forged", "64 bytes"},
		{"the signature with a line break", func(r map[string]any) {
			r["signature"] = r["signature"].(string)[:44] + "\n" + r["signature"].(string)[44:]
		}, "true true false", "TAMPERED or forged", "64 bytes"},
		{"another format", func(r map[string]any) { r["receipt_spec"] = "souvenir_visit_v9"; sign(r, edgetest.Key) }, "true true true", "Valid", "souvenir_visit_v9, not souvenir_visit_v0.2"},
		{"a field missing", func(r map[string]any) { delete(r, "note") }, "false true true", "TAMPERED", "note is missing"},
		{"an empty e-mail hash", func(r map[string]any) { r["owner_email_sha256"] = "" }, "false true true", "TAMPERED", "owner_email_sha256 must not be empty"},
		{"canonical missing", func(r map[string]any) { delete(r, "canonical") }, "false false false", "TAMPERED", "canonical is missing"},
		{"signed a text", func(r map[string]any) { r["signed"] = "true" }, "true true true", "Valid", "signed must not be a string"},
		{"a member added", func(r map[string]any) { r["reputation"] = "high" }, "true true true", "Valid", "reputation is not a member of a receipt"},
		{"a program too many", func(r map[string]any) { r["verify_kit"] = append(r["verify_kit"].([]any), "https://evil.example/") }, "true true true", "Valid", "run none of them"},
		{"the action left out", func(r map[string]any) { delete(r, "action") }, "true true true", "Valid", "action is missing"},
		{"the signature with stray bits", func(r map[string]any) {
			s := r["signature"].(string) // the last digit before the padding has four bits that mean nothing
			const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
			last := strings.IndexByte(digits, s[85])
			r["signature"] = s[:85] + string(digits[last+1]) + "=="
		}, "true true false", "TAMPERED or forged", "64 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := edgetest.NewFake(t)
			h.Edge = edgetest.Load(t, published)
			r := mint(t, h, `{"agent_name":"ada","note":"x"}`)
			c.change(r)
			v := verify(t, h, r)
			if got := word(&v.FieldsMatch) + " " + word(&v.HashOK) + " " + word(v.SignatureOK); got != c.checks {
				t.Errorf("checks %s, want %s", got, c.checks)
			}
			if v.Valid != (c.checks == "true true true") || !strings.HasPrefix(v.Verdict, c.verdict) {
				t.Errorf("valid %v: %s", v.Valid, v.Verdict)
			}
			found := slices.ContainsFunc(v.Problems, func(p string) bool { return strings.Contains(p, c.problem) })
			if c.problem != "" && !found || c.problem == "" && len(v.Problems) != 0 {
				t.Errorf("problems %q", v.Problems)
			}
		})
	}
}

// A receipt with one byte changed, in the signed text or in the signature, is not valid.
func TestEveryByteCounts(t *testing.T) {
	h := edgetest.NewFake(t)
	r := mint(t, h, `{"agent_name":"ada","note":"x","owner_email":"a@example.org"}`)
	for _, member := range append([]string{"canonical", "payload_sha256", "signature"}, canon.ReceiptFields...) {
		whole := r[member].(string)
		for i := range whole {
			other := byte('A')
			if whole[i] == other {
				other = 'B'
			}
			r[member] = whole[:i] + string(other) + whole[i+1:]
			if verify(t, h, r).Valid {
				t.Fatalf("%s with byte %d changed is valid", member, i)
			}
			r[member] = whole[:i]
			if verify(t, h, r).Valid {
				t.Fatalf("%s cut at byte %d is valid", member, i)
			}
		}
		r[member] = whole
	}
	if !verify(t, h, r).Valid {
		t.Fatal("the receipt itself is not valid")
	}
}
