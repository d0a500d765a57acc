//go:build full

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/canon"
	"anteroom/generator/kit"
	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// evidence is a service with a log, and the keys that it names for receipts.
type evidence struct {
	t       *testing.T
	signer  note.Signer
	key     string
	current ed25519.PrivateKey
	retired ed25519.PrivateKey // for records to 2026-10-31
	revoked ed25519.PrivateKey // named by the first verification alone
}

const evidenceHost = "www.anteroom.example"

func receiptKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func inBase64(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// answer is the answer to a registration, with the promise in it. change edits what is signed.
func (e *evidence) answer(key ed25519.PrivateKey, change func(*canon.Promised)) (answer []byte, hash string) {
	canonical := `{"commitment":"waitlist-canon-v0","agent_name":"tern","pubkey":null}`
	sum := sha256.Sum256([]byte(canonical))
	about := canon.Promised{
		Kind: "registration", PayloadSHA256: hex.EncodeToString(sum[:]), RecordID: strings.Repeat("5b", 16),
		RecordedAt: "2026-11-01T10:00:00Z", IssuedBy: evidenceHost, CountedBy: "2026-11-20",
	}
	change(&about)
	text := canon.Promise(&about)
	public, signature := inBase64(key), ed25519.Sign(key, []byte(text))
	if key[0] == smallOrder { // under this point, R = the point and S = 0 sign anything
		point := append([]byte{1}, make([]byte, 31)...)
		public, signature = base64.StdEncoding.EncodeToString(point), append(point, make([]byte, 32)...)
	}
	answer, err := json.Marshal(map[string]any{
		"converted": true, "registration": map[string]any{"agent_name": "tern", "pubkey": nil}, "canonical": canonical,
		"payload_sha256": about.PayloadSHA256, "record_id": about.RecordID, "recorded": true, "recorded_at": about.RecordedAt,
		"promise": map[string]string{
			"spec": canon.PromiseRule, "text": text, "public_key_b64": public, "signature": base64.StdEncoding.EncodeToString(signature),
		},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return answer, tlog.RecordHash(about.RecordID, about.PayloadSHA256)
}

// smallOrder is the seed of the key in whose place the answer names a point of small order.
const smallOrder = 99

// publish publishes the service's log, with the record counted as a kind, and its manifest.
func (e *evidence) publish(hash, kind string) (public string) {
	public = e.t.TempDir()
	l := tlog.New(e.key, nil)
	write := func(path string, text []byte) error {
		file := filepath.Join(public, filepath.FromSlash(path))
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, text, 0o666))
	}
	var board []byte
	for day, entries := range [][]tlog.Entry{{{Kind: kind, Hash: hash}}, nil} {
		name := []string{"2026-11-20", "2026-11-21"}[day]
		counts := map[string]string{tlog.Registration: "1,0", tlog.Own: "0,1"}[kind]
		registrations, own, _ := strings.Cut(counts, ",")
		board = []byte(`{"as_of":"` + name + `","pilot_waitlist":{"verified_organic_agent_conversions":0,"registrations_recorded":` +
			registrations + `},"orgs":{"charters_filed":0},"suggestions":{"received_external":0},` +
			`"excluded_from_counts":{"development_seed_and_test_records":` + own + `}}`)
		verified := tlog.VerificationOf(name, name, board)
		verified.ReceiptKeys = []string{inBase64(e.current), inBase64(e.retired) + "@2026-01-01..2026-10-31"}
		if day == 0 {
			verified.ReceiptKeys = append(verified.ReceiptKeys, inBase64(e.revoked))
		}
		if _, _, err := l.Append(name, append(entries, verified), e.signer); err != nil {
			e.t.Fatal(err)
		}
		if err := write(verified.Board, board); err != nil {
			e.t.Fatal(err)
		}
	}
	manifest := []byte(`{"canonical_host":"` + evidenceHost + `","receipt_key":"` + inBase64(e.current) + `"}`)
	if err := errors.Join(publishLog(l, public), write("/scoreboard.json", board), write("/manifest.json", manifest)); err != nil {
		e.t.Fatal(err)
	}
	return public
}

// Every program gives the same verdict on a promise: 0 kept, 1 the operator's own record, 2
// unverified.
func TestOneVerdict(t *testing.T) {
	signer, key, err := logSigner(7)
	if err != nil {
		t.Fatal(err)
	}
	e := &evidence{t: t, signer: signer, key: key, current: receiptKey(1), retired: receiptKey(2), revoked: receiptKey(3)}
	same := func(*canon.Promised) {}
	programs := t.TempDir()
	for name := range verifyPrograms {
		keys := []string{inBase64(e.current), inBase64(e.retired) + "@2026-01-01..2026-10-31"}
		text, err := kit.Program(name, "https://"+evidenceHost, keys, key, nil)
		if err = errors.Join(err, os.WriteFile(filepath.Join(programs, name), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		key    ed25519.PrivateKey
		change func(*canon.Promised)
		kind   string
		code   int
		says   string
	}{
		"kept":                        {e.current, same, tlog.Registration, cli.ExitOK, ""},
		"retired key":                 {e.retired, func(p *canon.Promised) { p.RecordedAt = "2026-10-31T10:00:00Z" }, tlog.Registration, cli.ExitOK, ""},
		"key of the forger":           {receiptKey(9), same, tlog.Registration, cli.ExitUsage, "unverified"},
		"small-order key":             {receiptKey(smallOrder), same, tlog.Registration, cli.ExitUsage, "unverified"},
		"other host":                  {e.current, func(p *canon.Promised) { p.IssuedBy = "www.other.example" }, tlog.Registration, cli.ExitUsage, "unverified"},
		"made-up root":                {receiptKey(9), func(p *canon.Promised) { p.Log, p.Size, p.Root = evidenceHost+"/log", 1, strings.Repeat("A", 43)+"=" }, tlog.Registration, cli.ExitUsage, "unverified"},
		"revoked key":                 {e.revoked, same, tlog.Registration, cli.ExitUsage, "unverified"},
		"retired key out of its days": {e.retired, same, tlog.Registration, cli.ExitUsage, "unverified"},
		"own record":                  {e.current, same, tlog.Own, cli.ExitFailure, "the operator's own record"},
	} {
		answer, hash := e.answer(c.key, c.change)
		file := filepath.Join(t.TempDir(), "answer.json")
		if err := os.WriteFile(file, answer, 0o600); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.FileServer(http.Dir(e.publish(hash, c.kind))))
		for _, arguments := range [][]string{
			{"log", "check", "--url", server.URL, "--key", key, file},
		} {
			var out, complaint bytes.Buffer
			code := run(arguments, nil, &out, &complaint)
			want := map[int]string{
				cli.ExitUsage: "is unverified: ", cli.ExitFailure: c.says,
			}[c.code]
			if said := complaint.String(); code != c.code || !strings.Contains(said, want) {
				t.Errorf("%s, anteroom %s: code %d, want %d: %s", name, arguments[:2], code, c.code, said)
			}
		}
		var out bytes.Buffer
		run([]string{"log", "check", "--url", server.URL, "--key", key, file, "--json"}, nil, &out, &bytes.Buffer{})
		if !strings.Contains(out.String(), `"signed_by": "`) || !strings.Contains(out.String(), `"issued_by": "www.`) {
			t.Errorf("%s: no signer in %s", name, &out)
		}
		for program, interpreter := range verifyPrograms {
			arguments := []string{filepath.Join(programs, program), file}
			arguments = append(arguments, "--counted", "--log", server.URL+"/log")
			said, err := exec.Command(interpreter, arguments...).CombinedOutput()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			if code != c.code || !strings.Contains(string(said), c.says) {
				t.Errorf("%s, %s: code %d, want %d: %s", name, program, code, c.code, said)
			}
		}
		server.Close()
	}
}

// verifyPrograms are the verify programs with their interpreters.
var verifyPrograms = map[string]string{"verify.py": "python3", "verify.mjs": "node"}
