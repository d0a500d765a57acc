package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
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
	"anteroom/generator/vectors"

	"golang.org/x/mod/sumdb/note"
)

const evidenceHost = "www.anteroom.example"

// smallOrder is the seed of the key in whose place an answer names a point of small order.
const smallOrder = 99

func receiptKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func inBase64(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// The receipt keys of the service: one for records to 2026-01-31, one that the first verification
// alone names, and one that no verification names yet.
var current, retired, revoked, unnamed = receiptKey(1), receiptKey(2), receiptKey(3), receiptKey(4)

// answerOf is the answer to a registration, with the promise in it. change edits what is signed.
func answerOf(t *testing.T, key ed25519.PrivateKey, change func(*canon.Promised)) string {
	canonical := canon.Registration("tern", "")
	sum := sha256.Sum256([]byte(canonical))
	about := canon.Promised{
		Kind: tlog.Registration, PayloadSHA256: hex.EncodeToString(sum[:]), RecordID: strings.Repeat("5b", 16),
		RecordedAt: "2026-02-01T10:00:00Z", IssuedBy: evidenceHost, CountedBy: "2026-02-20",
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
	check(t, err)
	return string(answer)
}

// logOf publishes a log of verifications on 20, 21 and so on of February, with its boards.
func logOf(t *testing.T, signer note.Signer, key, public string, stages ...[]tlog.Entry) *tlog.Log {
	l := tlog.New(key, nil)
	for day, entries := range stages {
		name := fmt.Sprintf("2026-02-%d", 20+day)
		trial := l.Clone() // which tells the counts
		if _, _, err := trial.Append(name, append(entries[:len(entries):len(entries)], tlog.VerificationOf(name, name, nil)), signer); err != nil {
			t.Fatal(err)
		}
		c := trial.Counts()
		board := fmt.Appendf(nil, `{"as_of":%q,"pilot_waitlist":{"verified_organic_agent_conversions":0,"registrations_recorded":%d},"orgs":{"charters_filed":%d},`+
			`"suggestions":{"received_external":0},"excluded_from_counts":{"development_seed_and_test_records":%d}}`, name, c.Registrations, c.Charters, c.Own)
		verified := tlog.VerificationOf(name, name, board)
		verified.ReceiptKeys = []string{inBase64(current), inBase64(retired) + "@2026-01-01..2026-01-31"}
		if day == 0 {
			verified.ReceiptKeys = append(verified.ReceiptKeys, inBase64(revoked))
		}
		if _, _, err := l.Append(name, append(entries[:len(entries):len(entries)], verified), signer); err != nil {
			t.Fatal(err)
		}
		manifest := fmt.Appendf(nil, `{"canonical_host":%q,"receipt_key":%q}`, evidenceHost, inBase64(unnamed))
		for path, text := range map[string][]byte{verified.Board: board, "/scoreboard.json": board, "/manifest.json": manifest} {
			file := filepath.Join(public, filepath.FromSlash(path))
			check(t, os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, text, 0o666))
		}
	}
	check(t, publishLog(l, public))
	return l
}

// Every program has the same verdict on an answer and a log: 0 it is counted as promised, 1 it is
// not or was edited, 2 it cannot be told. log check may exit with 0 where there is still time.
func TestOneVerdict(t *testing.T) { testVerdicts(t, nil) }

// testVerdicts asks log check, and programs of the verify kit, which are given with their
// interpreters.
func testVerdicts(t *testing.T, kits map[string]string) {
	signer, key, err := logSigner(7)
	check(t, err)
	foreign, foreignKey, err := logSigner(8)
	check(t, err)
	mine := tlog.Entry{Kind: tlog.Registration, Hash: hashOf(t, answerOf(t, current, func(*canon.Promised) {}))}
	own, charter, another := mine, mine, mine
	own.Kind, charter.Kind, another.Hash = tlog.Own, tlog.Charter, tlog.RecordHash("another", "")
	root := t.TempDir()
	public := func(name string) string { return filepath.Join(root, name) }
	honest := logOf(t, signer, key, public("honest"), []tlog.Entry{mine}, nil)
	logOf(t, signer, key, public("fork"), []tlog.Entry{another}, []tlog.Entry{mine})
	logOf(t, signer, key, public("short"), []tlog.Entry{mine})
	logOf(t, signer, key, public("own"), []tlog.Entry{own}, nil)
	logOf(t, signer, key, public("charter"), []tlog.Entry{charter}, nil)
	logOf(t, signer, key, public("late"), nil, []tlog.Entry{mine})
	logOf(t, signer, key, public("corrected"), []tlog.Entry{mine}, []tlog.Entry{{Kind: tlog.Correction, Index: 0, To: tlog.None}})
	logOf(t, signer, key, public("without"), []tlog.Entry{another}, nil)
	logOf(t, foreign, foreignKey, public("foreign"), []tlog.Entry{mine}, nil)

	same := func(*canon.Promised) {}
	due := func(day string) func(*canon.Promised) { return func(p *canon.Promised) { p.CountedBy = day } }
	tree := func(size int64) func(*canon.Promised) {
		h, err := honest.Root(size)
		check(t, err)
		return func(p *canon.Promised) { p.Log, p.Size, p.Root = evidenceHost+"/log", size, h.String() }
	}
	of := func(key ed25519.PrivateKey, change func(*canon.Promised)) string { return answerOf(t, key, change) }
	edit := func(old, with string) string {
		answer := of(current, same)
		if edited := strings.ReplaceAll(answer, old, with); edited != answer {
			return edited
		}
		t.Fatalf("no %s in %s", old, answer)
		return ""
	}
	answer := of(current, same)
	for name, c := range map[string]struct {
		answer, log string
		flags       []string
		code        int
		state, kit  string // of log check, and what each of the kit's programs says
	}{
		"kept":                   {answer, "honest", nil, 0, tlog.Kept, "named by verification 2026-02-21\n"},
		"kept, in a copy":        {answer, "copy/honest", nil, 0, tlog.Kept, "counted registration by 2026-02-20, entry 0 of 3"},
		"kept, in an old copy":   {of(current, tree(3)), "copy/short", nil, 0, tlog.Kept, "counted registration"},
		"a tree was promised":    {of(current, tree(2)), "honest", nil, 0, tlog.Kept, "ok     kept: the tree that the promise names, of 2 entries"},
		"corrected since":        {answer, "corrected", nil, 0, "counts as none now", "since then: it counts as none"},
		"no promise":             {edit(`"promise":`, `"promised":`), "honest", nil, 0, tlog.Counted, "anyone could have made this"},
		"the retired key":        {of(retired, func(p *canon.Promised) { p.RecordedAt = "2026-01-31T10:00:00Z" }), "honest", nil, 0, tlog.Kept, ""},
		"the reader's key":       {of(receiptKey(9), same), "copy/honest", []string{"--receipt-key", inBase64(receiptKey(9))}, 0, "named by --receipt-key", "named by --receipt-key\n"},
		"the service's new key":  {of(unnamed, same), "honest", []string{"--host-header", evidenceHost}, 0, "named by /manifest.json of " + evidenceHost, "named by this program\n"},
		"its own record":         {answer, "own", nil, 1, tlog.SetApart, "FAILED counted: the operator's own record"},
		"another kind":           {answer, "charter", nil, 1, tlog.NotCounted, "FAILED entry: "},
		"late":                   {answer, "late", nil, 1, tlog.Late, "FAILED in time: "},
		"still time":             {of(current, due("2999-01-01")), "without", nil, 1, tlog.StillTime, "yet, promised by 2999-01-01"},
		"not counted":            {edit(`"promise":`, `"promised":`), "without", nil, 1, tlog.NotCounted, "FAILED entry: "},
		"left out":               {of(current, due("2026-02-22")), "without", nil, 1, tlog.Broken, "BROKEN PROMISE, due by 2026-02-22"},
		"left out, in any copy":  {answer, "copy/without", nil, 1, tlog.Broken, "BROKEN PROMISE, due by 2026-02-20"},
		"due, in an old copy":    {of(current, due("2026-02-22")), "copy/without", nil, 2, tlog.Elsewhere, "not in this copy, whose newest verification is of 2026-02-21"},
		"a promised tree forked": {of(current, tree(2)), "fork", nil, 1, "FORK", "FAILED kept: the tree that the promise names"},
		"a promised tree gone":   {of(current, tree(3)), "short", nil, 1, "old copy, or fork", "FAILED kept: "},
		"another key of the log": {answer, "foreign", nil, 1, "not signed by the key of the log", "FAILED checkpoint: "},
		"a forged promise":       {of(receiptKey(9), due("2026-02-22")), "without", nil, 2, tlog.Unverified, "unverified: "},
		"a mirror's manifest":    {of(unnamed, same), "copy/honest", []string{"--receipt-key", inBase64(receiptKey(9))}, 2, tlog.Unverified, "unverified: "},
		"a manifest on loopback": {of(unnamed, same), "honest", []string{"--receipt-key", inBase64(receiptKey(9))}, 2, tlog.Unverified, "unverified: "},
		"a small-order key":      {of(receiptKey(smallOrder), same), "honest", nil, 2, tlog.Unverified, "unverified: "},
		"a made-up tree":         {of(receiptKey(9), func(p *canon.Promised) { tree(2)(p); p.Size++ }), "honest", nil, 2, tlog.Unverified, "unverified: "},
		"another host":           {of(current, func(p *canon.Promised) { p.IssuedBy = "www.other.example" }), "honest", nil, 2, tlog.Unverified, "unverified: "},
		"the retired key, late":  {of(retired, same), "honest", nil, 2, tlog.Unverified, "unverified: "},
		"a revoked key":          {of(revoked, due("2026-02-22")), "without", nil, 2, tlog.Revoked, "revoked: verification 2026-02-20 names its key, and verification 2026-02-21 revoked it"},
		"a revoked key, edited":  {strings.Replace(of(revoked, same), `by\":\"2026-02-20`, `by\":\"2026-02-11`, 1), "honest", nil, 1, tlog.Edited, "FAILED signature: "},
		"the text edited too":    {strings.ReplaceAll(edit(`"agent_name":"tern"`, `"agent_name":"eve"`), `\"tern\"`, `\"eve\"`), "honest", nil, 1, "was edited", "FAILED hash: "},
		"the text edited alone":  {edit(`\"tern\"`, `\"eve\"`), "honest", nil, 1, "was edited", "FAILED fields: "},
		"no such day":            {of(current, due("2026-02-30")), "honest", nil, 1, "was edited", "FAILED promise: "},
		"no such time":           {of(current, func(p *canon.Promised) { p.RecordedAt = "2026-02-01T24:00:00Z" }), "honest", nil, 1, "was edited", "FAILED promise: "},
		"a tree without a log":   {of(current, func(p *canon.Promised) { p.Root = strings.Repeat("A", 43) + "=" }), "honest", nil, 1, "was edited", "FAILED promise: "},
		"a member more":          {edit(`\"root\":null}`, `\"root\":null,\"x\":1}`), "honest", nil, 1, "was edited", "FAILED promise: "},
		"a member twice":         {edit(`\"counted_by\":`, `\"counted_by\":\"2026-02-21\",\"counted_by\":`), "honest", nil, 1, "was edited", "FAILED promise: "},
	} {
		log, isCopy := strings.CutPrefix(c.log, "copy/")
		files, below := http.FileServer(http.Dir(public(log))), ""
		if isCopy {
			files, below = http.StripPrefix("/copy", files), "/copy"
		}
		server := httptest.NewServer(files)
		file := filepath.Join(t.TempDir(), "answer.json")
		ask := append([]string{"log", "check", "--url", server.URL + below, "--log-key", key, file}, c.flags...)
		verify := []string{"--counted", file, "--log-key", key, "--log", server.URL + below + "/log"}
		if len(c.flags) > 0 && c.flags[0] != "--host-header" { // the kit knows its service
			verify = append(verify, c.flags...)
		}
		check(t, os.WriteFile(file, []byte(c.answer), 0o600))
		var said bytes.Buffer
		code := run(ask, nil, &said, &said)
		if code != c.code && (c.state != tlog.StillTime || code != cli.ExitOK) || !strings.Contains(said.String(), c.state) {
			t.Errorf("%s, anteroom log check: code %d, want %d %s: %s", name, code, c.code, c.state, &said)
		}
		for program, interpreter := range kits {
			program := filepath.Join(root, program)
			if _, err := os.Stat(program); err != nil {
				keys := []string{inBase64(current), inBase64(retired) + "@2026-01-01..2026-01-31", inBase64(unnamed)}
				text, err := kit.Program(filepath.Base(program), "https://"+evidenceHost, keys, key)
				check(t, err, os.WriteFile(program, text, 0o600))
			}
			cmd := exec.Command(interpreter, append([]string{program}, verify...)...)
			said, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(said), c.kit) {
				t.Errorf("%s, %s: code %d, want %d %s: %s", name, filepath.Base(program), code, c.code, c.kit, said)
			}
		}
		server.Close()
	}
}

func hashOf(t *testing.T, answer string) string {
	t.Helper()
	p, err := readPromised(strings.NewReader(answer), "-")
	check(t, err)
	return p.Hash
}

// The answers of the published vectors are read, or refused, as the programs of the kit do it.
func TestPromiseVectors(t *testing.T) {
	var f struct {
		Promises []struct {
			Name   string
			Answer map[string]json.RawMessage
		}
		Verdicts []struct {
			Name, Of, Verdict string
			Set               map[string]json.RawMessage
		}
	}
	check(t, json.Unmarshal(vectors.PromiseV0, &f))
	for _, v := range f.Verdicts {
		for _, p := range f.Promises {
			if p.Name != v.Of {
				continue
			}
			answer := maps.Clone(p.Answer)
			maps.Copy(answer, v.Set)
			text, err := json.Marshal(answer)
			check(t, err)
			if got, err := readPromised(bytes.NewReader(text), "-"); (err == nil && got.Signed) != (v.Verdict != "invalid") {
				t.Errorf("%s: %+v, %v, want %s", v.Name, got, err, v.Verdict)
			}
		}
	}
}

// The forms in which a record is named, and what is said of an answer that names none.
func TestReadPromised(t *testing.T) {
	id, hash := strings.Repeat("5b", 16), strings.Repeat("0a", 32)
	answer := answerOf(t, current, func(*canon.Promised) {})
	roster, seats := []canon.Seat{}, []string{}
	for i, position := range []string{"rainmaker", "operator", "verifier", "scout", "treasurer"} {
		roster = append(roster, canon.Seat{Position: position, AgentName: "é", Allocation: i})
		seats = append(seats, fmt.Sprintf(`{"position":%q,"agent_name":"é","allocation":%d}`, position, i))
	}
	canonical := canon.Charter("Tern", "", canon.Roster(roster))
	sum := sha256.Sum256([]byte(canonical))
	charter := fmt.Sprintf(`{"charter":{"org_name":"Tern","commissioner":null,"roster":[%s]},"canonical":%q,"payload_sha256":"%x","record_id":%q}`,
		strings.Join(seats, ","), canonical, sum, id)
	for text, expected := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"structuredContent":` + answer + `}}`: hashOf(t, answer),
		charter: tlog.RecordHash(id, hex.EncodeToString(sum[:])),
		strings.Replace(charter, `"allocation":4`, `"allocation":4.0`, 1):                       "does not match canonical",
		strings.Replace(charter, `{"position":"rainmaker"`, `{"position":"scout"`, 1):           "does not match canonical",
		fmt.Sprintf(`{"filed":true,"text_sha256":%q,"record_id":%q,"recorded":true}`, hash, id): tlog.RecordHash(id, ""),
		`{"receipt_spec":"souvenir_visit_v0.2","payload_sha256":"` + hash + `"}`:                "is a receipt",
		`{"record_id":"` + id + `","payload_sha256":"` + hash + `"}`:                            "has no registration and no charter",
		"<html>":                     "give the whole answer",
		"":                           "give the whole answer",
		`{"type":"about:blank"}`:     "no record_id",
		strings.Repeat(" ", 1<<20+1): "more than",
	} {
		p, err := readPromised(strings.NewReader(text), "-")
		got := ""
		if err == nil {
			got = p.Hash
		}
		if err == nil && got != expected || err != nil && !strings.Contains(err.Error(), expected) {
			t.Errorf("%.80s: %q, %v, want %s", text, got, err, expected)
		}
	}
}
