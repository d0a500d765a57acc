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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// logHost is the host in the origins of the logs. They are served elsewhere.
const logHost = "www.base.example"

// served is what an address answers.
type served func(w http.ResponseWriter, r *http.Request)

// fetches counts what is fetched of a log. Each question begins with a look-up.
type fetches struct{ questions, files, bytes int }

// site serves logs, each below a folder of its own.
type site struct {
	*httptest.Server
	lock sync.Mutex
	logs map[string]func(path string) served // by the folder
	got  map[string]*fetches                 // by the folder
}

func newSite(t *testing.T) *site {
	s := &site{logs: map[string]func(string) served{}, got: map[string]*fetches{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folder, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		s.lock.Lock()
		answer := s.logs[folder]("/" + rest)
		s.lock.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// add serves a log with some files changed, and gives the folder.
func (s *site) add(files map[string]func() []byte, changed map[string]served) string {
	s.lock.Lock()
	defer s.lock.Unlock()
	folder := "log" + strconv.Itoa(len(s.logs))
	got := &fetches{}
	s.got[folder] = got
	s.logs[folder] = func(path string) served {
		if answer := changed[path]; answer != nil {
			return answer
		}
		file := files[path]
		if file == nil {
			return status(404)
		}
		text := file()
		if got.files++; strings.Contains(path, "/lookup/") {
			got.questions++
		}
		got.bytes += len(text)
		return content(text)
	}
	return folder
}

func content(text []byte) served {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }
}

func status(code int) served {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// published gives the files of a log, by their paths.
func filesOf(t *testing.T, l *tlog.Log) map[string]func() []byte {
	t.Helper()
	all, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]func() []byte{}
	for _, f := range all {
		if files[f.Path] = f.Make; f.Make == nil {
			files[f.Path] = func() []byte { return f.Bytes }
		}
	}
	return files
}

// answers are a registration and a charter of the service, which get the record_id of each record
// of a log in turn.
type answers map[string][]byte

func newAnswers(t *testing.T) answers {
	roster := []any{}
	for _, position := range []string{"rainmaker", "operator", "verifier", "scout", "treasurer"} {
		roster = append(roster, map[string]any{"position": position, "agent_name": odd, "allocation": 20})
	}
	return answers{
		tlog.Registration: post(t, "/api/waitlist", map[string]string{"agent_name": odd}),
		tlog.Charter:      post(t, "/api/org", map[string]any{"org_name": "Tern", "roster": roster}),
	}
}

// number gives the answer of a kind for the record with this number, and its entry.
func (a answers) number(t testing.TB, kind string, n int) (answer []byte, e tlog.Entry) {
	var members struct {
		Payload string `json:"payload_sha256"`
	}
	if err := json.Unmarshal(a[kind], &members); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("%032x", n)
	e = tlog.Entry{Kind: kind, Hash: tlog.RecordHash(id, members.Payload)}
	return bytes.Replace(a[kind], recordID(t, a[kind]), []byte(quoted(id)), 1), e
}

// recordID is the record_id of an answer, as it stands there.
func recordID(t testing.TB, answer []byte) []byte {
	var members struct {
		ID json.RawMessage `json:"record_id"`
	}
	if err := json.Unmarshal(answer, &members); err != nil {
		t.Fatal(err)
	}
	return members.ID
}

// signer makes the n-th key of a log on a host. It is the same at each run.
func newSigner(t testing.TB, host string, n int) (key string, s note.Signer) {
	secret, key, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{byte(n + len(host))}, 64)), tlog.Origin(host, n))
	if err != nil {
		t.Fatal(err)
	}
	s, err = note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key, s
}

// stage adds a hand verification to a log.
func stage(t testing.TB, l *tlog.Log, s note.Signer, entries ...tlog.Entry) *tlog.Stage {
	t.Helper()
	name := time.Date(2026, 11, 20+len(l.Stages), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	entries = append(entries, tlog.Entry{
		Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, ""),
	})
	if _, _, err := l.Append(name, entries, s); err != nil {
		t.Fatal(err)
	}
	return l.Current()
}

// grown is a log with so many registrations in each stage, numbered from 0 on.
func grown(t testing.TB, a answers, sizes ...int) *tlog.Log {
	key, s := newSigner(t, logHost, 1)
	l, number := tlog.New([]string{key}, nil), 0
	_, like := a.number(t, tlog.Registration, 0)
	var members struct {
		Payload string `json:"payload_sha256"`
	}
	if err := json.Unmarshal(a[tlog.Registration], &members); err != nil {
		t.Fatal(err)
	}
	for _, n := range sizes {
		var entries []tlog.Entry
		for range n {
			like.Hash = tlog.RecordHash(fmt.Sprintf("%032x", number), members.Payload)
			entries = append(entries, like)
			number++
		}
		stage(t, l, s, entries...)
	}
	return l
}

// prove is the proof of an entry under the checkpoint of a stage.
func prove(t testing.TB, s *tlog.Stage, index int64) *tlog.Proof {
	p, err := s.Prove(index)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lastLine(kind string, s *tlog.Stage, index int64) string {
	return fmt.Sprintf("counted %s by %s, entry %d of %s at %d", kind, s.Name, index, s.Tree.Origin, s.Size)
}

// asking is a question about an answer, with where to ask whether it was counted.
type asking struct {
	question
	log   string // below the server; "" for a proof
	proof []byte // with which the log is not asked
	keys  string
}

// ask puts the questions to both programs.
func ask(t *testing.T, base string, all []asking) {
	t.Helper()
	var questions []question
	folder := t.TempDir()
	for i, a := range all {
		a.arguments = []string{"--log-key", a.keys}
		if a.log != "" {
			a.arguments = append(a.arguments, "--log", base+"/"+a.log+"/log")
		}
		if a.proof != nil {
			file := filepath.Join(folder, strconv.Itoa(i)+".tlog-proof")
			if err := os.WriteFile(file, a.proof, 0o600); err != nil {
				t.Fatal(err)
			}
			a.arguments = append(a.arguments, "--proof", file)
		}
		questions = append(questions, a.question)
	}
	compare(t, questions)
}

// What a log has counted is found in it by its answer, wherever it stands in trees of every form,
// and by a proof in a file. It takes few files.
func TestCounted(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	var questions []asking
	for _, sizes := range [][]int{{0}, {1}, {0, 1, 1, 2, 3}, {255}, {299, 399, 299}, {299, 65300, 500}} {
		l := grown(t, a, sizes...)
		folder, number := s.add(filesOf(t, l), nil), 0
		stranger, _ := a.number(t, tlog.Registration, 1<<30)
		questions = append(questions, asking{log: folder, keys: l.Keys[0], question: question{
			name: fmt.Sprint("not counted, ", sizes), input: stranger, status: 1, failed: "entry",
			last: "FAILED entry: no hand verification has counted it yet",
		}})
		for i, n := range sizes {
			stage := &l.Stages[i]
			first := stage.Size - int64(n) - 1
			for at := range n {
				index := first + int64(at)
				if n > 9 && at > 1 && at < n-2 && at != n/2 && (index < 254 || index > 257) && index != 65535 && index != 65536 {
					continue
				}
				answer, _ := a.number(t, tlog.Registration, number+at)
				want := asking{keys: l.Keys[0], question: question{input: answer, last: lastLine(tlog.Registration, stage, index)}}
				online, offline := want, want
				online.name, online.log = fmt.Sprintf("entry %d of %v", index, sizes), folder
				offline.name, offline.proof = online.name+" in a file", prove(t, stage, index).Append(nil)
				questions = append(questions, online, offline)
			}
			number += n
		}
	}
	ask(t, s.URL, questions)
	for folder, got := range s.got {
		t.Logf("%s: %+v", folder, *got)
		if got.files > 6*got.questions || got.bytes > 100_000*got.questions || got.files < 3*got.questions && got.bytes > 100_000 {
			t.Errorf("%s: %+v", folder, *got)
		}
	}
}

// lines are a text with one of its lines changed in a way, for each line and way.
func lines(text string, each func(what, changed string)) {
	all := strings.SplitAfter(text, "\n")
	for i, line := range all {
		with := func(instead ...string) string { return strings.Join(slices.Concat(all[:i], instead, all[i+1:]), "") }
		if line == "" {
			continue
		}
		each(fmt.Sprintf("line %d left out", i+1), with())
		if !strings.HasPrefix(line, "— ") {
			each(fmt.Sprintf("line %d twice", i+1), with(line, line))
		}
		for _, at := range []int{len(line) / 2, len(line) - 1} {
			if at >= 0 {
				changed := []byte(line)
				changed[at] ^= 1
				each(fmt.Sprintf("line %d changed at %d", i+1, at), with(string(changed)))
			}
		}
	}
}

// Nothing that is changed in the files of a log, or in a proof, is believed.
func TestTampered(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	l := grown(t, a, 299, 65300, 500)
	files := filesOf(t, l)
	last := l.Current()
	index := last.Size - 400 // beside it are whole subtrees and the edge, in tiles of three levels
	number := int(index) - 2 // without the verifications before
	answer, entry := a.number(t, tlog.Registration, number)
	other, _ := a.number(t, tlog.Registration, number+1)
	charter, _ := a.number(t, tlog.Charter, number)
	good := asking{keys: l.Keys[0], question: question{input: answer, last: lastLine(tlog.Registration, last, index)}}
	var questions []asking
	online := func(name string, status int, failed string, changed map[string]served) *asking {
		q := good
		q.name, q.status, q.failed, q.log = name, status, failed, s.add(files, changed)
		if status != 0 {
			q.last = ""
		}
		questions = append(questions, q)
		return &questions[len(questions)-1]
	}
	offline := func(name string, status int, failed string, proof []byte) *asking {
		q := good
		q.name, q.status, q.failed, q.proof = name, status, failed, proof
		if status != 0 {
			q.last = ""
		}
		questions = append(questions, q)
		return &questions[len(questions)-1]
	}
	online("as it is", 0, "", nil)
	offline("as it is, in a file", 0, "", prove(t, last, index).Append(nil))

	// Tiles: the sibling of the entry's subtree at the first level of each.
	sizes := map[string]int{}
	for level := range 3 {
		at := index >> (8 * level)
		path := l.Trees[0].Path() + tlog.TilePath(level, at>>8, min(256, last.Size>>(8*level)-at>>8<<8))
		if files[path] == nil {
			t.Fatalf("the log has no %s", path)
		}
		tile := files[path]()
		sizes[path] = len(tile)
		for bit := range 2 {
			changed := slices.Clone(tile)
			changed[(at^1)&255*32+int64(bit*4)] ^= 1 << bit
			online(fmt.Sprintf("%s, bit %d", path, bit), 1, "inclusion", map[string]served{path: content(changed)})
		}
		online(path+" cut off", 2, "", map[string]served{path: content(tile[:len(tile)-1])})
		online(path+" longer", 2, "", map[string]served{path: content(append(slices.Clone(tile), 0))})
		online(path+" missing", 2, "", map[string]served{path: status(404)})
		online(path+" not served", 2, "", map[string]served{path: status(500)})
	}

	// The look-up.
	path := tlog.LookupPath(entry.Hash)
	lookup := string(files[path]())
	line := fmt.Sprintf("%s %d %s registration\n", entry.Hash, index, last.Name)
	if !strings.Contains(lookup, line) {
		t.Fatalf("the look-up has no %s", line)
	}
	for what, c := range map[string]struct {
		status       int
		failed, line string
	}{
		"no line":              {1, "entry", ""},
		"another hash":         {1, "entry", "f" + entry.Hash[1:] + line[64:]},
		"another index":        {1, "inclusion", fmt.Sprintf("%s %d %s registration\n", entry.Hash, index+1, last.Name)},
		"an index too large":   {1, "inclusion", fmt.Sprintf("%s %d %s registration\n", entry.Hash, last.Size, last.Name)},
		"an index far beyond":  {1, "inclusion", fmt.Sprintf("%s 999999999 %s registration\n", entry.Hash, last.Name)},
		"an index in no tile":  {2, "", fmt.Sprintf("%s 1000000000 %s registration\n", entry.Hash, last.Name)},
		"an index with a sign": {2, "", fmt.Sprintf("%s -1 %s registration\n", entry.Hash, last.Name)},
		"an earlier name":      {1, "inclusion", fmt.Sprintf("%s %d %s registration\n", entry.Hash, index, l.Stages[1].Name)},
		"an unknown name":      {2, "", fmt.Sprintf("%s %d 2031-01-01 registration\n", entry.Hash, index)},
		"a path as name":       {2, "", fmt.Sprintf("%s %d ../../../x registration\n", entry.Hash, index)},
		"kind own":             {1, "inclusion", strings.Replace(line, "registration", "own", 1)},
		"kind charter":         {1, "inclusion", strings.Replace(line, "registration", "charter", 1)},
		"no kind":              {2, "", strings.Replace(line, " registration", "", 1)},
		"no end":               {2, "", strings.TrimSuffix(line, "\n")},
		"a carriage return":    {2, "", strings.Replace(line, "\n", "\r\n", 1)},
	} {
		changed := strings.Replace(lookup, line, "", 1) + c.line
		online("look-up with "+what, c.status, c.failed, map[string]served{path: content([]byte(changed))})
	}
	online("corrected since", 0, "", map[string]served{path: content([]byte(strings.Replace(line, "registration", "registration own", 1)))})
	online("no look-up", 1, "entry", map[string]served{path: status(404)})
	for what, text := range map[string]string{"HTML": "<!doctype html>\n", "no UTF-8": "\xff\n", "many lines": strings.Repeat("\n", 1<<20), "one line": strings.Repeat("a", 1<<20)} {
		online("look-up of "+what, 2, "", map[string]served{path: content([]byte(text))})
	}

	// What a site can do to each file.
	ways := map[string]served{
		"500": status(500), "403": status(403), "no content": status(204),
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(r.URL.Path, "/log", "/../log0/log", 1), http.StatusFound)
		},
		"redirected to a file": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/hostname", http.StatusMovedPermanently)
		},
		"too long": content(bytes.Repeat([]byte{'\n'}, 1<<20+1)),
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(bytes.Repeat([]byte{'\n'}, 1<<16))
			}
		},
		"never answered": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a trickle": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte{'\n'})
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		},
		"cut off": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("\n"))
			panic(http.ErrAbortHandler)
		},
	}
	slow := map[string]bool{"endless": true, "never answered": true, "a trickle": true}
	proofPath := tlog.ProofPath(last.Name)
	for what, way := range ways {
		online("look-up "+what, 2, "", map[string]served{path: way}).hasty = slow[what]
		online("proof "+what, 2, "", map[string]served{proofPath: way}).hasty = slow[what]
	}

	// The proof of the verification.
	proof := string(files[proofPath]())
	lines(proof, func(what, changed string) {
		online("proof of the verification, "+what, either, "", map[string]served{proofPath: content([]byte(changed))})
	})
	for _, of := range l.Stages[:2] {
		swapped := files[tlog.ProofPath(of.Name)]()
		online("the proof of "+of.Name, 1, "inclusion", map[string]served{proofPath: content(swapped)})
	}
	// A later verification proves no earlier one.
	early, _ := a.number(t, tlog.Registration, 400)
	online("the proof of a later verification", 1, "verification",
		map[string]served{tlog.ProofPath(l.Stages[1].Name): content([]byte(proof))}).input = early

	// A proof in a file.
	own := prove(t, last, index)
	lines(string(own.Append(nil)), func(what, changed string) {
		offline("proof in a file, "+what, either, "", []byte(changed))
	})
	body, mine, _ := strings.Cut(string(last.Checkpoint), "\n\n")
	lines(strings.TrimSuffix(string(own.Extra), mine), func(what, changed string) {
		p := *own
		p.Extra = []byte(changed + mine) // the signature of its checkpoint is that of the other one
		offline("proof in a proof, "+what, either, "", p.Append(nil))
	})
	change := func(f func(p *tlog.Proof)) []byte {
		p := *own
		f(&p)
		return p.Append(nil)
	}
	surplus := own.Hashes[0]
	for what, c := range map[string]struct {
		status int
		failed string
		proof  []byte
	}{
		"another entry":          {1, "inclusion", prove(t, last, index+1).Append(nil)},
		"without extra":          {2, "", change(func(p *tlog.Proof) { p.Extra = nil })},
		"with an extra of text":  {2, "", change(func(p *tlog.Proof) { p.Extra = []byte("2026-11-22") })},
		"with an extra of bytes": {2, "", change(func(p *tlog.Proof) { p.Extra = []byte{0xff} })},
		"the extra of an earlier one": {1, "verification", change(func(p *tlog.Proof) {
			p.Extra = prove(t, &l.Stages[0], 0).Extra
		})},
		"the extra of an entry that is no verification": {1, "verification", change(func(p *tlog.Proof) {
			p.Extra = (&tlog.Proof{Extra: last.Tree.Entry(index), Index: index, Hashes: own.Hashes, Checkpoint: own.Checkpoint}).Append(nil)
		})},
		"one hash more": {1, "inclusion", change(func(p *tlog.Proof) { p.Hashes = append(slices.Clone(p.Hashes), surplus) })},
		"the root as one more": {1, "inclusion", change(func(p *tlog.Proof) {
			root, _ := last.Tree.Root(last.Size)
			p.Hashes = append(slices.Clone(p.Hashes), root)
		})},
		"one hash less":         {1, "inclusion", change(func(p *tlog.Proof) { p.Hashes = p.Hashes[1:] })},
		"as many as can be":     {1, "inclusion", change(func(p *tlog.Proof) { p.Hashes = slices.Repeat(p.Hashes[:1], 63) })},
		"too many hashes":       {2, "", change(func(p *tlog.Proof) { p.Hashes = slices.Repeat(p.Hashes[:1], 64) })},
		"another index":         {1, "inclusion", change(func(p *tlog.Proof) { p.Index++ })},
		"an index beyond":       {1, "inclusion", change(func(p *tlog.Proof) { p.Index = last.Size })},
		"an index too large":    {2, "", change(func(p *tlog.Proof) { p.Index = 1 << 53 })},
		"an earlier checkpoint": {1, "inclusion", change(func(p *tlog.Proof) { p.Checkpoint = l.Stages[1].Checkpoint })},
		"nothing":               {2, "", []byte{}},
		"no UTF-8":              {2, "", []byte("\xff")},
		"too long":              {2, "", slices.Concat(own.Append(nil), bytes.Repeat([]byte("— x y\n"), 1<<17))},
		"carriage returns":      {2, "", bytes.ReplaceAll(own.Append(nil), []byte("\n"), []byte("\r\n"))},
	} {
		offline("a proof, "+what, c.status, c.failed, c.proof)
	}
	for size := range 3 {
		p := change(func(p *tlog.Proof) {
			p.Checkpoint = bytes.Replace(p.Checkpoint, []byte(fmt.Sprintf("\n%d\n", last.Size)), []byte(fmt.Sprintf("\n%d\n", last.Size-1+int64(size))), 1)
		})
		if size != 1 {
			offline(fmt.Sprintf("a proof, size changed by %d", size-1), 1, "", p)
		}
	}

	// Answers and keys.
	offline("another answer", 1, "inclusion", own.Append(nil)).input = other
	offline("a charter of the same number", 1, "inclusion", own.Append(nil)).input = charter
	offline("the members of another answer", 1, "fields", own.Append(nil)).input = edited(t, answer, "registration", `{"agent_name":"x","pubkey":null}`)
	offline("a dry run", 2, "", own.Append(nil)).input = edited(t, answer, "record_id", "null")
	for _, id := range []string{"", "7", `""`, `"x"`, `[` + quoted(fmt.Sprintf("%032x", number)) + `]`, quoted(fmt.Sprintf("%032x\n", number)), "12345678901234567890123456789012"} {
		offline("record_id "+id, 2, "", own.Append(nil)).input = edited(t, answer, "record_id", id)
	}
	offline("a receipt", 2, "", own.Append(nil)).input = post(t, "/api/receipt", map[string]string{})
	strange, stranger := newSigner(t, "www.other.example", 1)
	same, _ := newSigner(t, logHost, 1)
	second, _ := newSigner(t, logHost, 2)
	if same != l.Keys[0] {
		t.Fatal("a key is made otherwise each time")
	}
	for what, c := range map[string]struct {
		status int
		keys   string
	}{
		"of another log": {1, strange}, "of another number": {1, second}, "two": {0, strange + "," + same}, "three": {0, second + "," + same + "," + strange},
		"none": {2, ""}, "no key": {2, "x"}, "of another id": {2, strings.Replace(same, "+", "+0", 1)}, "of another name": {2, "x" + same}, "cut off": {2, same[:len(same)-4]},
		"of a witness": {2, vkey(logHost+"/log", 4)},
	} {
		q := offline("the key, "+what, c.status, "", own.Append(nil))
		q.keys = c.keys
		if c.status == 1 {
			q.failed = "checkpoint"
		}
	}

	// Checkpoints that others have signed: too, or instead.
	forged := func(by note.Signer) string {
		text, err := note.Sign(&note.Note{Text: body + "\n"}, by)
		if err != nil {
			t.Fatal(err)
		}
		_, signature, _ := strings.Cut(string(text), "\n\n")
		return signature
	}
	with := func(signatures string) []byte {
		return change(func(p *tlog.Proof) { p.Checkpoint = []byte(body + "\n\n" + signatures) })
	}
	offline("signed by a stranger alone", 1, "checkpoint", with(forged(stranger)))
	offline("signed by a stranger too", 0, "", with(forged(stranger)+mine))
	many := ""
	for i := range 100 {
		many += fmt.Sprintf("— witness%d.example %s\n", i, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(i)}, 76)))
	}
	offline("cosigned", 0, "", with(mine+many))
	unknown := "— " + logHost + "/log " + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 68)) + "\n"
	offline("signed by an unknown key of the name", 0, "", with(unknown+mine))
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(strings.Split(mine, " ")[2]))
	if err != nil {
		t.Fatal(err)
	}
	raw[20] ^= 1
	broken := "— " + logHost + "/log " + base64.StdEncoding.EncodeToString(raw) + "\n"
	offline("a broken signature", 1, "checkpoint", with(broken))
	offline("many broken signatures", 1, "checkpoint", with(strings.Repeat(broken, 5000)))
	offline("no signature", 2, "", with(""))
	offline("signed by the name of another log", 1, "checkpoint", with(strings.Replace(mine, "/log ", "/log/2 ", 1)))
	for _, origin := range []string{"www.other.example/log", logHost + "/log/2"} {
		offline("a checkpoint of "+origin, 1, "", change(func(p *tlog.Proof) {
			p.Checkpoint = bytes.Replace(p.Checkpoint, []byte(logHost+"/log\n"), []byte(origin+"\n"), 1)
		}))
	}
	for _, origin := range []string{logHost, logHost + "/log/../x", "x y/log", "\x1b[31m/log"} {
		offline("a checkpoint of "+quoted(origin), 2, "", change(func(p *tlog.Proof) {
			p.Checkpoint = bytes.Replace(p.Checkpoint, []byte(logHost+"/log\n"), []byte(origin+"\n"), 1)
		}))
	}
	ask(t, s.URL, questions)
}

// vkey is a verifier key with an algorithm.
func vkey(name string, algorithm byte) string {
	key := append([]byte{algorithm}, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)...)
	text := tlog.RecordHash(name, string(key)) // SHA-256 of the name, a line feed and the key
	return name + "+" + text[:8] + "+" + base64.StdEncoding.EncodeToString(key)
}

// A record that was set apart, one that was corrected, and the records under a second key.
func TestKinds(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	first, firstSigner := newSigner(t, logHost, 1)
	second, secondSigner := newSigner(t, logHost, 2)
	l := tlog.New([]string{first, second}, nil)
	both := first + "," + second
	kinds := []string{tlog.Registration, tlog.Charter, tlog.Registration, tlog.Registration, tlog.Charter}
	var entries []tlog.Entry
	var all [][]byte
	for i, kind := range kinds {
		answer, e := a.number(t, kind, i)
		if i > 2 {
			e.Kind = tlog.Own
		}
		all, entries = append(all, answer), append(entries, e)
	}
	one := stage(t, l, firstSigner, entries...)
	two := stage(t, l, firstSigner, tlog.Entry{Kind: tlog.Correction, Index: 0, To: tlog.Own}, tlog.Entry{Kind: tlog.Correction, Index: 2, To: tlog.None})
	later, e := a.number(t, tlog.Charter, 100)
	three := stage(t, l, secondSigner, e)
	folder := s.add(filesOf(t, l), nil)
	apart := "FAILED counted: it was set apart as the operator's own on " + one.Name
	var questions []asking
	add := func(name string, input []byte, keys, log string, proof []byte, status int, failed, last string) {
		questions = append(questions, asking{question{name: name, input: input, status: status, failed: failed, last: last}, log, proof, keys})
	}
	for i, c := range []struct {
		name, failed, last string
	}{
		{"a registration that was corrected", "", lastLine(tlog.Registration, one, 0)},
		{"a charter", "", lastLine(tlog.Charter, one, 1)},
		{"a registration that counts as nothing", "", lastLine(tlog.Registration, one, 2)},
		{"a registration that was set apart", "counted", apart},
		{"a charter that was set apart", "counted", apart},
	} {
		add(c.name, all[i], both, folder, nil, len(c.failed)/7, c.failed, c.last)
		add(c.name+", in a file", all[i], both, "", prove(t, one, int64(i)).Append(nil), len(c.failed)/7, c.failed, c.last)
	}
	add("under a later checkpoint", all[1], both, "", prove(t, two, 1).Append(nil), 0, "", lastLine(tlog.Charter, two, 1))
	add("under the second key", later, both, folder, nil, 0, "", lastLine(tlog.Charter, three, 1))
	add("under the second key, in a file", later, second, "", prove(t, three, 1).Append(nil), 0, "", lastLine(tlog.Charter, three, 1))
	add("under the second key, which is not known", later, first, folder, nil, 1, "checkpoint", "")
	add("under the first key, which is not known", all[1], second, folder, nil, 1, "checkpoint", "")
	ask(t, s.URL, questions)
	a0 := run(t, "verify.py", write(t, "verify.py", "https://www.example.org", nil, nil), all[0], "--log", s.URL+"/"+folder+"/log", "--log-key", both)
	if want := "since then: it counts as own, says the look-up\n"; !strings.Contains(a0.Out, want) {
		t.Errorf("%q is not in\n%s", want, a0.Out)
	}
}

// The programs take the address and the keys of the log that they were published with, and say what
// they lack.
func TestCountedArguments(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	l := grown(t, a, 3)
	input, _ := a.number(t, tlog.Registration, 1)
	base := s.URL + "/" + s.add(filesOf(t, l), nil)
	proof := filepath.Join(t.TempDir(), "a proof")
	if err := os.WriteFile(proof, prove(t, l.Current(), 1).Append(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verify.py", "verify.mjs"} {
		without, with := write(t, name, base, published, nil), write(t, name, base, published, l.Keys)
		for _, c := range []struct {
			program   string
			arguments []string
			status    int
			said      string
		}{
			{without, []string{"--counted"}, 2, "--log-key"},
			{without, []string{"--counted", "--log-key", l.Keys[0]}, 0, "counted registration by"},
			{with, []string{"--counted"}, 0, "counted registration by"},
			{with, []string{"--proof", proof}, 0, "counted registration by"},
			{with, []string{"--proof", proof + "x"}, 2, "no such file"},
			{with, []string{"--proof", "/dev/zero"}, 2, ""},
			{with, []string{"--log", "file:///log"}, 2, "http"},
			{with, []string{"--log", "http://127.0.0.1:1/log"}, 2, "http://127.0.0.1:1"},
			{with, nil, 0, "valid registration"},
		} {
			a := run(t, name, c.program, input, c.arguments...)
			if a.Status != c.status || (c.status == 2) != (a.Faults != "") || !strings.Contains(strings.ToLower(a.Out+a.Faults), c.said) || strings.Contains(a.Faults, "Traceback") {
				t.Errorf("%s %q: status %d, want %d\n%s%s", name, c.arguments, a.Status, c.status, a.Out, a.Faults)
			}
		}
	}
}
