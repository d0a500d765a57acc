//go:build full

package kit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// logHost issues the promises, and is the host in the origin of the log.
const logHost = "www.example.org"

// Both programs read a log of several bundles, and print the same about files that were changed. Of
// the answers and the entries TestOneVerdict judges them, together with anteroom log check.
func TestCounted(t *testing.T) {
	t.Parallel()
	answer := post(t, "/api/waitlist", map[string]string{"agent_name": odd})
	var mine struct {
		ID      string `json:"record_id"`
		Payload string `json:"payload_sha256"`
	}
	if err := json.Unmarshal(answer, &mine); err != nil {
		t.Fatal(err)
	}
	key, signer := tlogtest.Key(t, logHost+"/log")
	l, witness := tlog.New(key, nil), tlogtest.New(key)
	for day, entries := range [][]tlog.Entry{nil, {{Kind: tlog.Registration, Hash: tlog.RecordHash(mine.ID, mine.Payload)}}, nil} {
		name := fmt.Sprintf("2026-11-%d", 20+day)
		for i := range 300 {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(day, i), "x")})
		}
		if _, _, err := l.Append(name, append(entries, tlog.VerificationOf(name, name, nil)), signer); err != nil {
			t.Fatal(err)
		}
	}
	published, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	honest := map[string][]byte{}
	for _, f := range published {
		honest[f.Path] = f.Bytes
	}

	logs := map[string]map[string][]byte{} // the files of each question, by its folder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folder, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		text, there := logs[folder]["/"+path]
		if !there {
			w.WriteHeader(404)
		}
		_, _ = w.Write(text)
		for there && text == nil && r.Context().Err() == nil { // it trickles
			_, _ = w.Write([]byte{'\n'})
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	}))
	t.Cleanup(server.Close)
	var questions []question
	ask := func(name string, change func(files map[string][]byte), status int, says string, more ...string) {
		files, folder := maps.Clone(honest), fmt.Sprint(len(logs))
		change(files)
		logs[folder] = files
		questions = append(questions, question{
			name: name, input: answer, status: status, says: says, hasty: name == "trickle",
			arguments: append([]string{"--log-key", key, "--log", server.URL + "/" + folder + "/log"}, more...),
		})
	}
	unchanged := func(map[string][]byte) {}
	ask("honest", unchanged, 0, fmt.Sprintf("counted registration by 2026-11-21, entry %d of %d\n", 300+1, l.Size()))
	ask("cosigned", func(files map[string][]byte) {
		files["/log/checkpoint"] = append(bytes.Clone(files["/log/checkpoint"]), witness.Cosign(string(files["/log/checkpoint"]))...)
	}, 0, "counted registration")

	last := fmt.Sprintf("/log/tile/entries/003.p/%d", l.Size()-3*256)
	for _, path := range []string{"/log/checkpoint", "/log/tile/entries/000", "/log/tile/entries/002", last} {
		ask(path+" is missing", func(files map[string][]byte) { delete(files, path) }, 2, "")
		ask(path+" is a page", func(files map[string][]byte) { files[path] = []byte("<!doctype html>\n") }, 2, "")
		ask(path+" is too long", func(files map[string][]byte) { files[path] = bytes.Repeat([]byte("a"), 1<<20+1) }, 2, "")
		for _, n := range []int{10, 99, 140} {
			ask(fmt.Sprint(path, " changed at ", n), func(files map[string][]byte) {
				files[path] = bytes.Clone(files[path])
				files[path][n] ^= 1
			}, either, "")
		}
	}
	ask("trickle", func(files map[string][]byte) { files["/log/checkpoint"] = nil }, 2, "")

	// What cannot be asked.
	for _, wrong := range []string{"x", "", key[:len(key)-4], witness.VKey()} {
		ask("the key "+wrong, unchanged, 2, "", "--log-key", wrong)
	}
	ask("a receipt", unchanged, 2, "")
	questions[len(questions)-1].input = post(t, "/api/receipt", map[string]string{})
	ask("a record_id of another form", unchanged, 2, "")
	questions[len(questions)-1].input = edited(t, answer, "record_id", `"x"`)
	ask("another address", unchanged, 2, "", "--log", "ftp://x/log")
	compare(t, questions)
}
