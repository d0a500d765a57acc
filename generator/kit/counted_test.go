//go:build full

package kit_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
)

// logHost issues the promises, and is the host in the origin of the log.
const logHost = "www.example.org"

// entryOf is the entry of an answer.
func entryOf(t *testing.T, answer []byte, kind string) tlog.Entry {
	t.Helper()
	var a struct {
		ID      string `json:"record_id"`
		Payload string `json:"payload_sha256"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	return tlog.Entry{Kind: kind, Hash: tlog.RecordHash(a.ID, a.Payload)}
}

// promising is an answer whose promise is changed, and signed again.
func promising(t *testing.T, answer []byte, change func(*canon.Promised)) []byte {
	t.Helper()
	var a struct {
		Promise struct {
			Text string `json:"text"`
		} `json:"promise"`
	}
	var p struct {
		Kind       string `json:"kind"`
		Payload    string `json:"payload_sha256"`
		ID         string `json:"record_id"`
		RecordedAt string `json:"recorded_at"`
		IssuedBy   string `json:"issued_by"`
		CountedBy  string `json:"counted_by"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(a.Promise.Text), &p); err != nil {
		t.Fatal(err)
	}
	about := canon.Promised{Kind: p.Kind, PayloadSHA256: p.Payload, RecordID: p.ID, RecordedAt: p.RecordedAt, IssuedBy: p.IssuedBy, CountedBy: p.CountedBy}
	change(&about)
	text := canon.Promise(&about)
	promise, err := json.Marshal(map[string]string{
		"spec": canon.PromiseRule, "text": text, "public_key_b64": edgetest.PublicKey(edgetest.Key),
		"signature": base64.StdEncoding.EncodeToString(ed25519.Sign(edgetest.Key, []byte(text))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return edited(t, answer, "promise", string(promise))
}

// grown is a log with n registrations of others before each stage, and the entries in the second.
func grown(t *testing.T, key string, signer note.Signer, others string, n int, entries ...tlog.Entry) *tlog.Log {
	t.Helper()
	l := tlog.New(key, nil)
	for day, more := range [][]tlog.Entry{nil, entries, nil} {
		name := fmt.Sprintf("2026-11-%d", 20+day)
		var all []tlog.Entry
		for i := range n {
			all = append(all, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(others, day, i), "x")})
		}
		all = append(append(all, more...), tlog.VerificationOf(name, name, nil))
		if _, _, err := l.Append(name, all, signer); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// Both programs give one verdict on an answer and a log: of the honest one, and of each attacker's.
func TestCounted(t *testing.T) {
	t.Parallel()
	key, signer := tlogtest.Key(t, logHost+"/log")
	otherKey, otherSigner := tlogtest.Key(t, logHost+"/log")
	answer := post(t, "/api/waitlist", map[string]string{"agent_name": odd})
	mine := entryOf(t, answer, tlog.Registration)
	own := mine
	own.Kind = tlog.Own
	honest := grown(t, key, signer, "", 300, mine)
	fork := grown(t, key, signer, "fork", 300, mine)
	at := int64(300 + 1 + 300)
	root := func(l *tlog.Log, size int64) string {
		h, err := l.Root(size)
		if err != nil {
			t.Fatal(err)
		}
		return h.String()
	}
	head := func(l *tlog.Log, size int64) func(*canon.Promised) {
		return func(p *canon.Promised) { p.Log, p.Size, p.Root = logHost+"/log", size, root(l, size) }
	}
	due := func(day string) func(*canon.Promised) { return func(p *canon.Promised) { p.CountedBy = day } }
	witness := tlogtest.New(key)
	kept := func(s tlog.Stage) string {
		file := filepath.Join(t.TempDir(), "kept")
		if err := os.WriteFile(file, s.Checkpoint, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}

	logs := map[string]func(path string) ([]byte, bool){}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folder, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if path == "log/checkpoint" && strings.HasPrefix(folder, "trickle") {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte{'\n'})
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		}
		text, there := logs[folder]("/" + path)
		if !there {
			w.WriteHeader(404)
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	var questions []question
	ask := func(name string, input []byte, l *tlog.Log, change func(files map[string][]byte), status int, failed, says string, more ...string) *question {
		all, err := l.Files()
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, f := range all {
			files[f.Path] = f.Content()
		}
		if change != nil {
			change(files)
		}
		folder := fmt.Sprint(len(logs))
		if strings.HasPrefix(name, "trickle") {
			folder = "trickle" + folder
		}
		logs[folder] = func(path string) ([]byte, bool) { text, there := files[path]; return text, there }
		questions = append(questions, question{
			name: name, input: input, status: status, failed: failed, says: says,
			arguments: append([]string{"--log-key", key, "--log", server.URL + "/" + folder + "/log"}, more...),
		})
		return &questions[len(questions)-1]
	}
	sure := promising(t, answer, due("2026-11-21"))
	ask("honest", sure, honest, nil, 0, "", fmt.Sprintf("counted registration by 2026-11-21, entry %d of %d\n", at, honest.Size()))
	ask("its first checkpoint was kept", sure, honest, nil, 0, "", "ok     kept: the kept checkpoint, of 301 entries, is the beginning", "--kept", kept(honest.Stages[0]))
	ask("a promise from a tree of it", promising(t, answer, head(honest, 301)), honest, nil, 0, "", "ok     kept: the tree that the promise names")
	ask("a promise from another log", promising(t, answer, func(p *canon.Promised) { head(fork, 301)(p); p.Log = logHost + "/log-2" }), honest, nil, 0, "", "another log: the promise names "+logHost+"/log-2\n")
	ask("cosigned", sure, honest, func(files map[string][]byte) {
		files["/log/checkpoint"] = append(bytes.Clone(files["/log/checkpoint"]), witness.Cosign(string(files["/log/checkpoint"]))...)
	}, 0, "", "witnessed: it existed by 20", "--witness", witness.VKey())
	ask("corrected since", sure, grown(t, key, signer, "", 300, mine, tlog.Entry{Kind: tlog.Correction, Index: at, To: tlog.None}), nil, 0, "", "since then: it counts as none\n")
	ask("no promise", edited(t, answer, "promise", ""), honest, nil, 0, "", "anyone could have made this")

	// The five attackers.
	ask("history rewritten", sure, fork, nil, 1, "kept", "", "--kept", kept(honest.Stages[0]))
	ask("a forked view", promising(t, answer, head(honest, 301)), fork, nil, 1, "kept", "")
	ask("a view taken back", sure, grown(t, key, signer, "", 3, mine), nil, 1, "kept", "", "--kept", kept(honest.Stages[0]))
	ask("without its witness", sure, honest, nil, 1, "witnessed", "", "--witness", witness.VKey())
	ask("left out, and due", promising(t, answer, due("2026-11-21")), grown(t, key, signer, "", 3), nil, 1, "entry", "BROKEN PROMISE, due by 2026-11-21")
	ask("left out, with time", promising(t, answer, due("2999-01-01")), grown(t, key, signer, "", 3), nil, 1, "entry", "yet, promised by 2999-01-01")
	ask("late", promising(t, answer, due("2026-11-20")), honest, nil, 1, "in time", "")
	ask("set apart", sure, grown(t, key, signer, "", 3, own), nil, 1, "counted", "the operator's own record")
	ask("another kind", sure, grown(t, key, signer, "", 3, entryOf(t, answer, tlog.Charter)), nil, 1, "entry", "")
	ask("a promise by nobody's key", edited(t, answer, "promise", strings.Replace(string(promiseOf(t, sure)), edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(ed25519.NewKeyFromSeed(make([]byte, 32))), 1)), honest, nil, 2, "", "")
	ask("another key of the log", sure, grown(t, otherKey, otherSigner, "", 300, mine), nil, 1, "checkpoint", "")

	// Files that were changed, or are none.
	last := fmt.Sprintf("/log/tile/entries/003.p/%d", honest.Size()-3*256)
	for _, path := range []string{"/log/checkpoint", "/log/tile/entries/000", "/log/tile/entries/002", last} {
		ask(path+" is missing", sure, honest, func(files map[string][]byte) { delete(files, path) }, 2, "", "")
		ask(path+" is a page", sure, honest, func(files map[string][]byte) { files[path] = []byte("<!doctype html>\n") }, 2, "", "")
		ask(path+" is too long", sure, honest, func(files map[string][]byte) { files[path] = bytes.Repeat([]byte("a"), 1<<20+1) }, 2, "", "")
		for _, n := range []int{10, 99, 140} {
			ask(fmt.Sprint(path, " changed at ", n), sure, honest, func(files map[string][]byte) {
				files[path] = bytes.Clone(files[path])
				files[path][n] ^= 1
			}, either, "", "")
		}
	}
	ask("trickle", sure, honest, nil, 2, "", "").hasty = true

	// What cannot be asked.
	for _, wrong := range []string{"x", "", key[:len(key)-4], witness.VKey(), smallOrder(0), smallOrder(1), smallOrder(0xec), smallOrder(0x26)} {
		ask("the key "+wrong, sure, honest, nil, 2, "", "", "--log-key", wrong)
	}
	ask("a receipt", post(t, "/api/receipt", map[string]string{}), honest, nil, 2, "", "")
	ask("a record_id of another form", edited(t, answer, "record_id", `"x"`), honest, nil, 2, "", "")
	ask("another address", sure, honest, nil, 2, "", "", "--log", "ftp://x/log")
	compare(t, slices.Clip(questions))
}

func promiseOf(t *testing.T, answer []byte) json.RawMessage {
	t.Helper()
	var a struct {
		Promise json.RawMessage `json:"promise"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	return a.Promise
}

// smallOrder is a key of the log that is a point of small order, by its first byte.
func smallOrder(first byte) string {
	raw := make([]byte, 32)
	switch first {
	case 0xec:
		for i := range raw {
			raw[i] = 0xff
		}
		raw[31] = 0x7f
	case 0x26:
		copy(raw, "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05")
	}
	raw[0] = first
	key, err := note.NewEd25519VerifierKey(logHost+"/log", raw)
	if err != nil {
		panic(err)
	}
	return key
}
