//go:build full

package kit_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
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
	"anteroom/generator/tlog/tlogtest"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// logHost is the host in the origins of the logs. They are served elsewhere.
const logHost = "www.base.example"

// asking is a question about an answer, with where to ask whether it was counted.
type asking struct {
	question
	log   string // below the server; "" for a proof
	proof []byte // with which the log is not asked
	keys  string

	witnesses []string
}

// ask puts the questions to both programs.
func ask(t *testing.T, base string, all []asking) {
	t.Helper()
	var questions []question
	folder := t.TempDir()
	for i, a := range all {
		a.arguments = []string{"--log-key", a.keys}
		if a.witnesses != nil {
			a.arguments = append(a.arguments, "--witness", strings.Join(a.witnesses, ","))
		}
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

// fetches counts what is fetched of a log. Each question begins with a lookup.
type fetches struct{ questions, files, bytes int }

// site serves logs, each below a folder of its own.
type site struct {
	*httptest.Server
	lock sync.Mutex
	logs map[string]func(path string) http.HandlerFunc // by the folder
	got  map[string]*fetches                           // by the folder
}

func newSite(t *testing.T) *site {
	s := &site{logs: map[string]func(string) http.HandlerFunc{}, got: map[string]*fetches{}}
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

// add serves a log with one of its files changed, and gives the folder.
func (s *site) add(files map[string][]byte, changed string, instead http.HandlerFunc) string {
	s.lock.Lock()
	defer s.lock.Unlock()
	folder, got := "log"+strconv.Itoa(len(s.logs)), &fetches{}
	s.got[folder] = got
	s.logs[folder] = func(path string) http.HandlerFunc {
		text, there := files[path]
		switch {
		case instead != nil && path == changed:
			return instead
		case !there:
			return status(404)
		case strings.Contains(path, "/lookup/"):
			got.questions++
		}
		got.files++
		got.bytes += len(text)
		return content(text)
	}
	return folder
}

func content[T string | []byte](text T) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// filesOf gives the files of a log, by their paths.
func filesOf(t *testing.T, l *tlog.Log) map[string][]byte {
	t.Helper()
	all, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range all {
		files[f.Path] = f.Content()
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
		// A promise is about the record_id of its own record.
		tlog.Registration: edited(t, post(t, "/api/waitlist", map[string]string{"agent_name": odd}), "promise", ""),
		tlog.Charter:      edited(t, post(t, "/api/org", map[string]any{"org_name": "Tern", "roster": roster}), "promise", ""),
	}
}

// number gives the answer of a kind for the record with this number, and its entry.
func (a answers) number(t testing.TB, kind string, n int) (answer []byte, e tlog.Entry) {
	var members struct {
		ID      json.RawMessage `json:"record_id"`
		Payload string          `json:"payload_sha256"`
	}
	if err := json.Unmarshal(a[kind], &members); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("%032x", n)
	return bytes.Replace(a[kind], members.ID, []byte(quoted(id)), 1), tlog.Entry{Kind: kind, Hash: tlog.RecordHash(id, members.Payload)}
}

// stage adds a hand verification to a log.
func stage(t testing.TB, l *tlog.Log, s note.Signer, entries ...tlog.Entry) *tlog.Stage {
	t.Helper()
	name := time.Date(2026, 11, 20+len(l.Stages), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	if _, _, err := l.Append(name, append(entries, tlog.VerificationOf(name, name, nil)), s); err != nil {
		t.Fatal(err)
	}
	return l.Current()
}

// grown is a log with so many registrations in each stage, numbered from 0 on.
func grown(t testing.TB, a answers, sizes ...int) *tlog.Log {
	key, s := tlogtest.Key(t, tlog.Origin(logHost, 1))
	l, number := tlog.New([]string{key}, nil), 0
	for _, n := range sizes {
		var entries []tlog.Entry
		for range n {
			_, e := a.number(t, tlog.Registration, number)
			entries = append(entries, e)
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
	return fmt.Sprintf("counted %s by %s, entry %d of %d in %s", kind, s.Name, index, s.Size, s.Tree.Origin)
}

// What a log has counted is found in it by its answer, wherever it is in trees of every form, and
// by a proof in a file. It takes few files.
func TestCounted(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	var questions []asking
	for _, sizes := range [][]int{{0}, {0, 1, 1, 2, 3}, {255}, {299, 65300, 500}} {
		l := grown(t, a, sizes...)
		folder, number := s.add(filesOf(t, l), "", nil), 0
		stranger, _ := a.number(t, tlog.Registration, 1<<30)
		questions = append(questions, asking{log: folder, keys: l.Keys[0], question: question{
			name: fmt.Sprint("not counted, ", sizes), input: stranger, status: 1, failed: "entry",
			last: "FAILED entry: not counted by a hand verification yet",
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
				online := asking{keys: l.Keys[0], log: folder, question: question{
					name: fmt.Sprintf("entry %d of %v", index, sizes), input: answer, last: lastLine(tlog.Registration, stage, index),
				}}
				offline := online
				offline.name, offline.log, offline.proof = online.name+" in a file", "", prove(t, stage, index).Append(nil)
				questions = append(questions, online, offline)
			}
			number += n
		}
	}
	ask(t, s.URL, questions)
	for folder, got := range s.got {
		if got.files > 6*got.questions || got.bytes > 100_000*got.questions {
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
			changed := []byte(line)
			changed[at] ^= 1
			each(fmt.Sprintf("line %d changed at %d", i+1, at), with(string(changed)))
		}
	}
}

// faultyAnswers are what a site can do instead of serving a file. All but the first four take their
// time.
var faultyAnswers = []http.HandlerFunc{
	status(500), status(204),
	func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(r.URL.Path, "/log", "/../log0/log", 1), http.StatusFound)
	},
	func(w http.ResponseWriter, r *http.Request) { // cut off
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("\n"))
		panic(http.ErrAbortHandler)
	},
	func(w http.ResponseWriter, r *http.Request) { // a trickle
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte{'\n'})
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	},
}

// Nothing that is changed in the files of a log, or in a proof, is believed.
func TestTampered(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	l := grown(t, a, 299, 65300, 500)
	files, last, key := filesOf(t, l), l.Current(), l.Keys[0]
	index := last.Size - 400 // beside it are whole subtrees and the edge, in tiles of three levels
	number := int(index) - 2 // without the verifications before
	answer, entry := a.number(t, tlog.Registration, number)
	var questions []asking
	add := func(name string, status int, failed string, q asking) *asking {
		q.name, q.status, q.failed, q.input, q.keys = name, status, failed, answer, key
		if status == 0 {
			q.last = lastLine(tlog.Registration, last, index)
		}
		questions = append(questions, q)
		return &questions[len(questions)-1]
	}
	online := func(name string, status int, failed, path string, instead http.HandlerFunc) *asking {
		return add(name, status, failed, asking{log: s.add(files, path, instead)})
	}
	offline := func(name string, status int, failed string, proof []byte) *asking {
		return add(name, status, failed, asking{proof: proof})
	}
	own := prove(t, last, index)
	online("as it is", 0, "", "", nil)
	offline("as it is, in a file", 0, "", own.Append(nil))

	// Tiles: the sibling of the entry's subtree at the first level of each.
	for level := range 3 {
		at := index >> (8 * level)
		width := min(256, last.Size>>(8*level)-at>>8<<8)
		path := l.Trees[0].Path() + "/" + torchwood.TilePath(merkle.Tile{H: 8, L: level, N: at >> 8, W: int(width)})
		tile := files[path]
		changed := slices.Clone(tile)
		changed[(at^1)&255*32+int64(level*9)] ^= 1 << level
		online(path+", a bit", 1, "inclusion", path, content(changed))
		online(path+" cut off", 2, "", path, content(tile[:len(tile)-1]))
		online(path+" missing", 2, "", path, status(404))
	}

	// The lookup.
	path, line := tlog.LookupPath(entry.Hash), fmt.Sprintf("%s %d %s registration\n", entry.Hash, index, last.Name)
	rest := strings.Replace(string(files[path]), line, "", 1)
	indexed := func(index int64, name string) string {
		return fmt.Sprintf("%s %d %s registration\n", entry.Hash, index, name)
	}
	for what, c := range map[string]struct {
		status       int
		failed, line string
	}{
		"no line":              {1, "entry", ""},
		"another index":        {1, "inclusion", indexed(index+1, last.Name)},
		"an index too large":   {1, "inclusion", indexed(last.Size, last.Name)},
		"an index with a sign": {2, "", indexed(-1, last.Name)},
		"a path as name":       {2, "", indexed(index, "../../../x")},
		"kind own":             {1, "inclusion", strings.Replace(line, "registration", "own", 1)},
		"a carriage return":    {2, "", strings.Replace(line, "\n", "\r\n", 1)},
		"a correction":         {0, "", strings.Replace(line, "registration", "registration own", 1)},
	} {
		online("lookup with "+what, c.status, c.failed, path, content(rest+c.line))
	}
	online("no lookup", 1, "entry", path, status(404))
	for _, text := range []string{"<!doctype html>\n", "\xff\n", strings.Repeat("\n", 1<<20), strings.Repeat("a", 1<<20)} {
		online(fmt.Sprintf("lookup as %.20q", text), 2, "", path, content(text))
	}
	proofPath := tlog.ConsistencyPath(last.Name)
	for i, faulty := range faultyAnswers {
		online(fmt.Sprint("lookup, faulty answer ", i), 2, "", path, faulty).hasty = i > 3
		online(fmt.Sprint("proof, faulty answer ", i), 2, "", proofPath, faulty).hasty = i > 3
	}

	// The proof of the verification, and a proof in a file.
	lines(string(files[proofPath]), func(what, changed string) {
		online("proof of the verification, "+what, either, "", proofPath, content(changed))
	})
	online("the proof of the first verification", 1, "inclusion", proofPath, content(files[tlog.ConsistencyPath(l.Stages[0].Name)]))
	early, _ := a.number(t, tlog.Registration, 400)
	online("the proof of a later verification", 1, "verification", tlog.ConsistencyPath(l.Stages[1].Name), content(files[proofPath])).input = early
	lines(string(own.Append(nil)), func(what, changed string) { offline("proof in a file, "+what, either, "", []byte(changed)) })
	body, mine, _ := strings.Cut(string(last.Checkpoint), "\n\n")
	change := func(f func(p *tlog.Proof)) []byte {
		p := *own
		p.Hashes = slices.Clone(p.Hashes)
		f(&p)
		return p.Append(nil)
	}
	lines(strings.TrimSuffix(string(own.Extra), mine), func(what, changed string) { // whose signature is that of the other one
		offline("proof in a proof, "+what, either, "", change(func(p *tlog.Proof) { p.Extra = []byte(changed + mine) }))
	})
	for what, c := range map[string]struct {
		status int
		failed string
		proof  []byte
	}{
		"another entry":               {1, "inclusion", prove(t, last, index+1).Append(nil)},
		"without extra":               {2, "", change(func(p *tlog.Proof) { p.Extra = nil })},
		"the extra of an earlier one": {1, "verification", change(func(p *tlog.Proof) { p.Extra = prove(t, &l.Stages[0], 0).Extra })},
		"one hash less":               {1, "inclusion", change(func(p *tlog.Proof) { p.Hashes = p.Hashes[1:] })},
		"another index":               {1, "inclusion", change(func(p *tlog.Proof) { p.Index++ })},
		"nothing":                     {2, "", []byte{}},
		"too long":                    {2, "", slices.Concat(own.Append(nil), bytes.Repeat([]byte("— x y\n"), 1<<17))},
	} {
		offline("a proof, "+what, c.status, c.failed, c.proof)
	}

	// Answers and keys.
	other, _ := a.number(t, tlog.Registration, number+1)
	offline("another answer", 1, "inclusion", own.Append(nil)).input = other
	offline("the members of another answer", 1, "fields", own.Append(nil)).input = edited(t, answer, "registration", `{"agent_name":"x","pubkey":null}`)
	for _, id := range []string{"", "7", `"x"`} {
		offline("record_id "+id, 2, "", own.Append(nil)).input = edited(t, answer, "record_id", id)
	}
	offline("a receipt", 2, "", own.Append(nil)).input = post(t, "/api/receipt", map[string]string{})
	strange, stranger := tlogtest.Key(t, "www.other.example/log")
	second, _ := tlogtest.Key(t, tlog.Origin(logHost, 2))
	for keys, status := range map[string]int{
		strange: 1, second: 1, strange + "," + key: 0, "x": 2, key[:len(key)-4]: 2, tlogtest.New(key).VKey(): 2, // of a witness
		smallOrder(0): 2, smallOrder(1): 2, smallOrder(0xec): 2, smallOrder(0x26): 2,
	} {
		q := offline("the keys "+keys, status, "", own.Append(nil))
		if q.keys = keys; status == 1 {
			q.failed = "checkpoint"
		}
	}

	// Checkpoints that others have signed: too, or instead.
	with := func(signatures string) []byte {
		return change(func(p *tlog.Proof) { p.Checkpoint = []byte(body + "\n\n" + signatures) })
	}
	forged, err := note.Sign(&note.Note{Text: body + "\n"}, stranger)
	if err != nil {
		t.Fatal(err)
	}
	_, theirs, _ := strings.Cut(string(forged), "\n\n")
	offline("signed by a stranger alone", 1, "checkpoint", with(theirs))
	offline("signed by a stranger too", 0, "", with(theirs+mine))
	line64 := func(name string, raw []byte) string {
		return "— " + name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
	}
	offline("cosigned", 0, "", with(mine+strings.Repeat(line64("witness.example", make([]byte, 76)), 100)))
	const when = "2026-11-23T10:02:11Z" // after the day of the verification
	for what, c := range map[string]struct {
		at, forged string
		keys       []int
		status     int
		says       string
	}{
		"by the witness":             {when, "", []int{1}, 0, "witnessed: it existed by " + when + ", according to witness.example/1\n"},
		"by one of two":              {when, "", []int{1, 2}, 1, "FAILED witnessed: it is not cosigned by witness.example/2\n"},
		"by another":                 {when, "", []int{2}, 1, "FAILED witnessed: "},
		"before the verification":    {"2026-11-19T23:59:59Z", "", []int{1}, 1, "FAILED witnessed: "},
		"at a time to come":          {"2099-01-01T00:00:00Z", "", []int{1}, 1, "FAILED witnessed: "},
		"over another checkpoint":    {when, "x", []int{1}, 1, "FAILED witnessed: "},
		"by a witness without a key": {when, "", nil, 0, "not witnessed: "},
	} {
		q := offline("cosigned "+what, c.status, "", with(mine+cosigned(t, 1, c.at, body+"\n"+c.forged)))
		for _, number := range c.keys {
			q.witnesses = append(q.witnesses, tlogtest.Signer(fmt.Sprintf("witness.example/%d", number), byte(number)).Verifier().String())
		}
		q.says = c.says
	}
	offline("signed by the name of another log", 1, "checkpoint", with(strings.Replace(mine, "/log ", "/log/2 ", 1)))
	for origin, status := range map[string]int{"www.other.example/log": 1, logHost + "/log/2": 1, logHost + "/log/../x": 2, "\x1b[31m/log": 2} {
		offline("a checkpoint of "+quoted(origin), status, "", change(func(p *tlog.Proof) {
			p.Checkpoint = bytes.Replace(p.Checkpoint, []byte(logHost+"/log\n"), []byte(origin+"\n"), 1)
		}))
	}
	ask(t, s.URL, questions)
}

// smallOrder is a key of a log that is a point of small order, by the first byte of the point.
func smallOrder(first byte) string {
	name, key := logHost+"/log", make([]byte, 33)
	key[0], key[1] = 1, first
	switch first {
	case 0xec: // -1
		copy(key[2:], bytes.Repeat([]byte{0xff}, 31))
		key[32] = 0x7f
	case 0x26: // of order 8
		hex.Decode(key[1:], []byte("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"))
	}
	id := sha256.Sum256(append([]byte(name+"\n"), key...))
	return fmt.Sprintf("%s+%x+%s", name, id[:4], base64.StdEncoding.EncodeToString(key))
}

// cosigned is the line by which the witness with a number cosigns a text at a time.
func cosigned(t *testing.T, number byte, at, text string) string {
	t.Helper()
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("witness.example/%d", number)
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	signature := ed25519.Sign(key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", when.Unix(), text))
	raw := binary.BigEndian.AppendUint32(nil, tlogtest.Signer(name, number).KeyHash())
	raw = binary.BigEndian.AppendUint64(raw, uint64(when.Unix()))
	return "— " + name + " " + base64.StdEncoding.EncodeToString(append(raw, signature...)) + "\n"
}

// A record that was set apart, one that was corrected, and the records under a second key.
func TestKinds(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	first, firstSigner := tlogtest.Key(t, tlog.Origin(logHost, 1))
	second, secondSigner := tlogtest.Key(t, tlog.Origin(logHost, 2))
	l := tlog.New([]string{first, second}, nil)
	var entries []tlog.Entry
	var all [][]byte
	for i, kind := range []string{tlog.Registration, tlog.Charter, tlog.Registration, tlog.Registration, tlog.Charter} {
		answer, e := a.number(t, kind, i)
		if i > 2 {
			e.Kind = tlog.Own
		}
		all, entries = append(all, answer), append(entries, e)
	}
	one := stage(t, l, firstSigner, entries...)
	stage(t, l, firstSigner, tlog.Entry{Kind: tlog.Correction, Index: 0, To: tlog.Own}, tlog.Entry{Kind: tlog.Correction, Index: 2, To: tlog.None})
	later, e := a.number(t, tlog.Charter, 100)
	three := stage(t, l, secondSigner, e)
	keys, err := l.KeysWithEnds()
	if err != nil {
		t.Fatal(err)
	}
	both, bare := strings.Join(keys, ","), first+","+second
	folder := s.add(filesOf(t, l), "", nil)
	apart := "FAILED counted: the operator's own record, set apart on " + one.Name
	var questions []asking
	add := func(name string, input []byte, keys, log string, proof []byte, status int, failed, last string) {
		questions = append(questions, asking{question: question{name: name, input: input, status: status, failed: failed, last: last}, log: log, proof: proof, keys: keys})
	}
	for i, c := range []struct {
		name   string
		status int
		failed string
		last   string
	}{
		{"a registration that was corrected", 0, "", lastLine(tlog.Registration, one, 0)},
		{"a charter", 0, "", lastLine(tlog.Charter, one, 1)},
		{"a registration that counts as nothing", 0, "", lastLine(tlog.Registration, one, 2)},
		{"a registration that was set apart", 1, "counted", apart},
		{"a charter that was set apart", 1, "counted", apart},
	} {
		add(c.name, all[i], both, folder, nil, c.status, c.failed, c.last)
		p, err := l.Prove(oneOf(one, i))
		if err != nil {
			t.Fatal(err)
		}
		add(c.name+", in a file", all[i], both, "", p.Proof.Append(nil), c.status, c.failed, c.last)
	}
	add("under a replaced key, without the keys' ends", all[1], bare, folder, nil, 0, "", lastLine(tlog.Charter, one, 1))
	add("under a replaced key, in a file that leads nowhere", all[1], both, "", prove(t, one, 1).Append(nil), 1, "key", "")
	add("under a replaced key, in a file, without its end", all[1], bare, "", prove(t, one, 1).Append(nil), 1, "key", "")

	// Who has stolen the first key signs another tree with it.
	stolen := tlog.New([]string{first}, nil)
	victim, mine := a.number(t, tlog.Registration, 7)
	stage(t, stolen, firstSigner, mine)
	p, err := stolen.Prove(mine.Hash)
	if err != nil {
		t.Fatal(err)
	}
	add("by a thief of a replaced key", victim, both, "", p.Proof.Append(nil), 1, "key", "")
	add("by a thief of a replaced key, from a site", victim, both, s.add(filesOf(t, stolen), "", nil), nil, 1, "key", "")
	add("under the second key", later, both, folder, nil, 0, "", lastLine(tlog.Charter, three, 1))
	add("under the second key, in a file", later, second, "", prove(t, three, 1).Append(nil), 0, "", lastLine(tlog.Charter, three, 1))
	add("under the second key, which is not known", later, first, folder, nil, 1, "checkpoint", "")
	forged := prove(t, three, 1)
	body, _, _ := strings.Cut(string(forged.Checkpoint), "\n\n")
	if forged.Checkpoint, err = note.Sign(&note.Note{Text: body + "\n"}, firstSigner); err != nil {
		t.Fatal(err)
	}
	add("the second tree, signed with the first key", later, both, "", forged.Append(nil), 1, "checkpoint", "")
	ask(t, s.URL, questions)
	python := write(t, "verify.py", "https://www.example.org", nil, nil)
	said := run(t, "verify.py", python, all[0], "--log", s.URL+"/"+folder+"/log", "--log-key", both)
	if want := "since then: it counts as own, according to the lookup\n"; !strings.Contains(said.Out, want) {
		t.Errorf("%q is not in\n%s", want, said.Out)
	}
}

// oneOf is the hash of an entry of a stage.
func oneOf(s *tlog.Stage, i int) string {
	e, err := tlog.ParseEntry(s.Tree.Entry(int64(i)))
	if err != nil {
		panic(err)
	}
	return e.Hash
}

// A second tree under the same key, shown to one reader beside the files that everybody sees,
// proves nothing: its checkpoint is not the newest one, nor does that go beyond it.
func TestFork(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	key, signer := tlogtest.Key(t, tlog.Origin(logHost, 1))
	honest, fork := tlog.New([]string{key}, nil), tlog.New([]string{key}, nil)
	for n := range 3 {
		_, e := a.number(t, tlog.Registration, n)
		stage(t, honest, signer, e)
	}
	victim, e := a.number(t, tlog.Registration, 9)
	stage(t, fork, signer, e)
	published := filesOf(t, honest)
	for path, text := range filesOf(t, fork) {
		if _, there := published[path]; !there || strings.Contains(path, "/consistency/") {
			published[path] = text
		}
	}
	proof, err := fork.Prove(e.Hash)
	if err != nil {
		t.Fatal(err)
	}
	folder := s.add(published, "", nil)
	named := func(name string, log string, proof []byte, status int, failed string) asking {
		return asking{question: question{name: name, input: victim, status: status, failed: failed}, log: log, proof: proof, keys: key}
	}
	ask(t, s.URL, []asking{
		named("a fork beside the log", folder, nil, 1, "newest"),
		named("a proof of a fork, and the log", folder, proof.Proof.Append(nil), 1, "newest"),
		named("a proof of a fork, and an honest log", s.add(filesOf(t, honest), "", nil), proof.Proof.Append(nil), 1, "newest"),
		named("a proof of a fork alone", "", proof.Proof.Append(nil), 0, ""), // as the page says
	})
}

// The programs take the address and the keys of the log that they were published with, and say what
// they lack.
func TestCountedArguments(t *testing.T) {
	t.Parallel()
	a, s := newAnswers(t), newSite(t)
	l := grown(t, a, 3, 2)
	input, entry := a.number(t, tlog.Registration, 1)
	proved, err := l.Prove(entry.Hash) // up to the newest checkpoint
	if err != nil {
		t.Fatal(err)
	}
	base := s.URL + "/" + s.add(filesOf(t, l), "", nil)
	proof := filepath.Join(t.TempDir(), "a proof")
	if err := os.WriteFile(proof, proved.Proof.Append(nil), 0o600); err != nil {
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
			{without, []string{"--counted"}, 2, "this service keeps no log"},
			{with, []string{"--counted"}, 0, "counted registration by"},
			{with, []string{"--proof", proof}, 0, "counted registration by"},
			{with, []string{"--proof", "/dev/zero"}, 2, ""},
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
