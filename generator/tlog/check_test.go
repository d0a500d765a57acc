package tlog_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

var update = flag.Bool("update", false, "write the wanted texts")

// today is the day of the checks.
var today = time.Date(2027, 1, 2, 12, 0, 0, 0, time.UTC)

// keptOf is a checkpoint that was kept; nil is none.
func keptOf(text []byte) [][]byte {
	if text == nil {
		return nil
	}
	return [][]byte{text}
}

func check(t testing.TB, p published, keys []string, kept []byte) *tlog.Report {
	t.Helper()
	r, err := tlog.Check(tlog.Checking{Read: p.read, Keys: keys, Kept: keptOf(kept), Now: today})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// foreign lets a verifier of another project look at the published tree of each key: at the policy,
// the newest checkpoint with all its entries and tiles, and the proofs of the verifications.
func foreign(p published, keys []string) (err error) {
	defer func() {
		if fault := recover(); fault != nil { // it trusts the length of a bundle
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	for _, key := range keys {
		folder, err := tlog.TreeOf(key)
		if err != nil {
			return err
		}
		newest, there := p[tlog.CheckpointPath(folder)]
		if !there {
			continue
		}
		policy, err := torchwood.ParsePolicy(p[tlog.PolicyPath(folder)])
		if err != nil {
			return err
		}
		v, err := note.NewVerifier(key)
		if err != nil {
			return err
		}
		own := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(v.Name()), torchwood.SingleVerifierPolicy(v))
		if _, _, err := torchwood.VerifyCheckpoint(newest, policy); err != nil {
			return err
		}
		c, _, err := torchwood.VerifyCheckpoint(newest, own)
		if err != nil {
			return err
		}
		files := fstest.MapFS{}
		for path, text := range p {
			if below, of := strings.CutPrefix(path, folder+"/"); of {
				files[below] = &fstest.MapFile{Data: text}
			}
		}
		tiles, err := torchwood.NewTileFS(files)
		if err != nil {
			return err
		}
		client, err := torchwood.NewClient(tiles)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, line := range client.AllEntries(context.Background(), c.Tree, 0) {
			n++
			e, err := tlog.ParseEntry(line)
			if err != nil || e.Kind != tlog.Verification {
				continue
			}
			name := strings.TrimSuffix(strings.TrimPrefix(e.Board, "/scoreboard/"), ".json")
			if err := torchwood.VerifyProof(own, merkle.RecordHash(line), p[tlog.ProofPath(name)]); err != nil {
				return err
			}
			if _, _, err := torchwood.VerifyCheckpoint(p[tlog.CheckpointOf(folder, n)], own); err != nil {
				return err
			}
		}
		if err := client.Err(); err != nil || n != c.N {
			return fmt.Errorf("%d of %d entries: %w", n, c.N, err)
		}
	}
	return nil
}

// What a service publishes passes, here and with the verifier of another project; each file is read
// once.
func TestCheck(t *testing.T) {
	logs := map[string]*book{"years": years(t), "one entry": treeOf(t, 1)}
	for _, n := range []int64{256, 65_537} {
		logs[fmt.Sprint(n)] = treeOf(t, sizesFrom(n)...)
	}
	for name, b := range logs {
		p, reads := b.publish(t), atomic.Int64{}
		r, err := tlog.Check(tlog.Checking{Read: func(path string) ([]byte, error) {
			reads.Add(1)
			return p.read(path)
		}})
		if err != nil || !r.OK() {
			t.Fatalf("%s: %v %+v %+v", name, err, r.Faults, r.Forks)
		}
		if n := reads.Load(); int(n) != len(p) || r.Files != n {
			t.Errorf("%s: %d files, %d were read, %d reported", name, len(p), n, r.Files)
		}
		if last := r.Verifications[len(r.Verifications)-1]; len(r.Trees) != len(b.Trees) || len(r.Verifications) != len(b.Stages) || last.Counts != b.Counts() {
			t.Errorf("%s: %+v", name, r)
		}
		if err := foreign(p, b.Keys); err != nil {
			t.Errorf("%s: torchwood refuses: %v", name, err)
		}
	}
	b := logs["years"]
	if r := check(t, b.publish(t), []string{b.Keys[1], b.Keys[0]}, nil); !r.OK() {
		t.Errorf("with the keys in another order: %+v", r.Faults)
	}
}

// tampered is a published log that is not as it should be, or that is to be compared with a
// checkpoint from earlier.
type tampered struct {
	name string
	published
	keys []string // that are trusted
	kept []byte
}

// changes are logs that somebody without the key has changed.
func changes(t *testing.T) (logs []tampered) {
	b := years(t)
	whole := b.publish(t)
	p := published(nil) // the one that is changed
	change := func(name string, change func()) {
		p = maps.Clone(whole)
		change()
		logs = append(logs, tampered{name: name, published: p, keys: b.Keys})
	}
	replace := func(path, old, with string) {
		if !bytes.Contains(p[path], []byte(old)) {
			t.Fatalf("%s does not hold %q", path, old)
		}
		p[path] = bytes.Replace(p[path], []byte(old), []byte(with), 1)
	}
	flip := func(path string, at int) {
		p[path] = bytes.Clone(p[path])
		p[path][at] ^= 1
	}
	hash, corrected := b.HashAt(5), b.HashAt(7)
	lookup := tlog.LookupPath(hash)
	change("nothing", func() {})
	change("an entry of another kind", func() { replace("/log/tile/entries/000", `"registration"`, `"registratiom"`) })
	change("an entry with another hash", func() { replace("/log/tile/entries/000", hash, hash[1:]+"0") })
	change("the length of an entry", func() { flip("/log/tile/entries/000", 1) })
	change("a hash in a tile", func() { flip("/log/tile/0/001", 40) })
	change("a hash in a tile of a higher level", func() { flip("/log/tile/1/000.p/4", 40) })
	change("a bundle is gone", func() { delete(p, "/log/tile/entries/001") })
	change("an older board was rewritten", func() { replace("/scoreboard/2026-11-20.json", `"charters_filed":2`, `"charters_filed":3`) })
	change("the newest board has other numbers", func() { replace("/scoreboard.json", `"charters_filed":7`, `"charters_filed":8`) })
	change("the lookup has another index", func() { replace(lookup, hash+" 5 ", hash+" 6 ") })
	change("the lookup hides a correction", func() { replace(tlog.LookupPath(corrected), " own\n", "\n") })
	change("the lookup has what was not logged", func() {
		p[lookup] = append(bytes.Clone(p[lookup]), hash[:3]+strings.Repeat("f", 61)+" 5 2026-11-20 registration\n"...)
	})
	_, third := keyOf(t, 3)
	change("another key is published", func() { p[tlog.KeysPath] = append(bytes.Clone(p[tlog.KeysPath]), third+"\n"...) })
	change("a key is not published", func() { p[tlog.KeysPath] = []byte(b.Keys[0] + "\n") })
	change("the policy is for another key", func() { p["/log/policy"] = p["/log/2/policy"] })
	change("the newest checkpoint is an older one", func() { p["/log/checkpoint"] = p["/log/checkpoints/308"] })
	change("the newest checkpoint of the first key is held back", func() { delete(p, "/log/checkpoint") })
	change("an older checkpoint is that of another size", func() { p["/log/checkpoints/308"] = p["/log/checkpoints/711"] })
	change("the signature of the newest checkpoint", func() { flip("/log/2/checkpoint", len(p["/log/2/checkpoint"])-9) })
	change("a proof is that of another verification", func() { p[tlog.ProofPath("2026-11-20")] = p[tlog.ProofPath("2026-11-21")] })
	change("a proof with another hash", func() {
		own, err := b.Stages[1].Proof()
		if err != nil {
			t.Fatal(err)
		}
		own.Hashes[0][5] ^= 1
		p[tlog.ProofPath("2026-11-21")] = own.Append(nil)
	})
	stranger, _ := namedKey(t, tlog.Origin(host, 1), 9)
	change("a checkpoint by a key of the same name", func() { p["/log/checkpoint"] = signNote(t, signedText(&b.stages[3]), stranger) })
	change("all entries are those of another log, under the checkpoints of this one", func() {
		other := empty(t, 1)
		for i, s := range b.stages[:4] {
			other.count(t, 1, s.name, records(20+i, tlog.Registration, int(b.Stages[i].Size-1-other.Size()))...)
		}
		for path, text := range other.publish(t) {
			if strings.Contains(path, "/tile/") || strings.Contains(path, "/lookup/") {
				p[path] = text
			}
		}
	})
	return logs
}

// compared are logs with checkpoints that were kept, and such with two signed trees.
func compared(t *testing.T) (logs []tampered) {
	b := years(t)
	whole := b.publish(t)
	other := empty(t, 1)
	other.count(t, 1, "2026-11-20", records(30, tlog.Registration, 307)...).count(t, 1, "2026-11-21", records(31, tlog.Charter, 402)...)
	short := empty(t, 1)
	short.count(t, 1, "2026-11-20", records(30, tlog.Registration, 307)...).count(t, 1, "2026-11-21", records(31, tlog.Charter, 1)...)
	first := empty(t, 1).count(t, 1, "2026-11-20", records(1, tlog.Registration, 307)...)
	with := func(name string, b *book, p published, kept []byte) {
		logs = append(logs, tampered{name: name, published: p, keys: b.Keys, kept: kept})
	}
	with("since the first checkpoint", b, whole, b.stages[0].checkpoint)
	with("since a checkpoint of another log of the key", b, whole, other.stages[0].checkpoint)
	with("since another checkpoint of the same size", first, first.publish(t), other.stages[0].checkpoint)
	with("an old state of the log", short, short.publish(t), other.stages[1].checkpoint)
	forked := maps.Clone(whole)
	forked["/log/checkpoints/308"] = other.stages[0].checkpoint
	with("an older checkpoint of another log of the key", b, forked, nil)
	held := maps.Clone(whole)
	delete(held, "/log/checkpoint")
	with("since a checkpoint, and the newest is held back", b, held, b.stages[0].checkpoint)
	broken := maps.Clone(whole)
	delete(broken, "/log/tile/entries/000")
	with("since a checkpoint, and a bundle is gone", b, broken, b.stages[0].checkpoint)
	rewritten := maps.Clone(whole)
	rewritten["/scoreboard.json"] = board("2027-01-02", tlog.Counts{Charters: 3})
	lookup := tlog.LookupPath(b.HashAt(5))
	rewritten[lookup] = append(bytes.Clone(whole[lookup]), b.HashAt(5)[:3]+strings.Repeat("f", 61)+" 5 2026-11-20 registration\n"...)
	with("since the newest checkpoint, and a board and the lookup were rewritten", b, rewritten, b.stages[4].checkpoint)
	return logs
}

// forged is a verification that whoever has the key signs, whatever it says.
type forged struct {
	name    string
	key     int
	entries []tlog.Entry
	counts  *tlog.Counts              // nil for those that the entries give
	board   string                    // the path that the verification names; "" for its own
	asOf    string                    // "" for the day of the name
	text    func(board []byte) []byte // changes the board before it is logged and published
	told    map[string]int            // nil for those of the board
	lookup  string                    // "" for that of the entries
}

// forgery makes a log of forged verifications, and what is published of it.
func forgery(t *testing.T, name string, stages ...forged) tampered {
	l, boards := tlog.New(nil, nil), published{}
	for n := range 2 {
		_, key := keyOf(t, n+1)
		l.Keys = append(l.Keys, key)
	}
	for _, f := range stages {
		signer, _ := keyOf(t, f.key)
		e := verification(f.name)
		if f.asOf != "" {
			e.AsOf = f.asOf
		}
		if f.board != "" {
			e.Board = f.board
		}
		if f.told != nil {
			e.Told = f.told
		}
		e.LookupSHA256 = f.lookup
		if f.counts == nil { // a trial tells them
			trial := l.Clone()
			if err := trial.Forge(f.name, append(slices.Clip(f.entries), e), signer); err != nil {
				t.Fatal(err)
			}
			e.Counts = trial.Counts()
		} else {
			e.Counts = *f.counts
		}
		text := board(e.AsOf, e.Counts)
		if f.text != nil {
			text = f.text(text)
		}
		sum := sha256.Sum256(text)
		e.BoardSHA256 = hex.EncodeToString(sum[:])
		boards[e.Board], boards["/scoreboard.json"] = text, text
		if err := l.Forge(f.name, append(slices.Clip(f.entries), e), signer); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := l.Files() // which names a record that is there twice
	for _, f := range files {
		boards[f.Path] = f.Content()
	}
	return tampered{name: name, published: boards, keys: l.Keys}
}

// forgeries are logs whose key has signed what does not fit together.
func forgeries(t *testing.T) []tampered {
	a, b := records(1, tlog.Registration, 3), records(2, tlog.Charter, 2)
	first := forged{name: "2026-11-20", key: 1, entries: a}
	// On the second day two charters come, and one more entry.
	then := func(name string, more ...tlog.Entry) tampered {
		return forgery(t, name, first, forged{name: "2026-11-21", key: 1, entries: append(slices.Clip(b), more...)})
	}
	second := func(name string, f forged) tampered { return forgery(t, name, first, f) }
	edited := func(name, old, with string) tampered {
		return forgery(t, name, forged{name: "2026-11-20", key: 1, entries: a, text: func(text []byte) []byte {
			if !bytes.Contains(text, []byte(old)) {
				t.Fatalf("%s does not hold %s", text, old)
			}
			return bytes.Replace(text, []byte(old), []byte(with), 1)
		}})
	}
	number := `"registrations_recorded":3`
	return []tampered{
		forgery(t, "forged, and nothing is wrong", first, forged{name: "2026-11-21", key: 1, entries: b}, forged{name: "2026-11-22", key: 2}),
		second("a count that the entries do not give", forged{name: "2026-11-21", key: 1, entries: b, counts: &tlog.Counts{Vouched: 9, Registrations: 3, Charters: 2}}),
		then("a correction of a verification", correction(3, tlog.None)),
		then("an agent of an own record", tlog.Entry{Kind: tlog.Own, Hash: tlog.RecordHash("own", "")}, vouched(6)),
		then("an agent whose registration counts no more", vouched(0), correction(0, tlog.None)),
		then("a registration as a charter", correction(0, tlog.Charter)),
		second("a number of the board that is not told", forged{name: "2026-11-21", key: 1, told: map[string]int{}}),
		second("a number that the board does not have", forged{name: "2026-11-21", key: 1, told: map[string]int{"suggestions.shipped": 41}}),
		second("another lookup", forged{name: "2026-11-21", key: 1, entries: b, lookup: tlog.RecordHash("x", "")}),
		then("an agent twice", vouched(0), vouched(0)),
		then("a checkpoint of a tree before within a tree", tlog.Entry{Kind: tlog.Previous}),
		then("a record in two stages", a[1]),
		edited("a board with another number", number, `"registrations_recorded":33`),
		edited("a board with a number in another part", number+`},"orgs":{`, `"registrations_recorded":33},"orgs":{`+number+`,`),
		edited("a board of another day", "2026-11-20", "2026-11-19"),
		second("the board of another verification", forged{name: "2026-11-21", key: 1, entries: b, board: "/scoreboard/2026-11-20.json", asOf: "2026-11-20"}),
		second("a board at another path", forged{name: "2026-11-21", key: 1, board: "/log/vkey"}),
		second("a day that is not in the calendar", forged{name: "2026-11-31", key: 1}),
		second("a day that is over", forged{name: "2026-11-19", key: 1}),
		forgery(t, "the number before", forged{name: "2026-11-20-10", key: 1}, forged{name: "2026-11-20-9", key: 1}),
	}
}

// What is said of each log, and whether the verifier of another project refuses it, is in
// testdata/faults.txt.
func TestCheckFaults(t *testing.T) {
	var b strings.Builder
	for _, c := range slices.Concat(changes(t), compared(t), forgeries(t)) {
		fmt.Fprintf(&b, "=== %s\n", c.name)
		r := check(t, c.published, c.keys, c.kept)
		if c.kept != nil {
			fmt.Fprintf(&b, "since: %s\n", r.Since)
		}
		for _, f := range r.Forks {
			fmt.Fprintf(&b, "fork of %s: %s\n", f.Origin, f.What)
			for _, text := range f.Notes {
				if _, err := tlog.Open([]byte(text), c.keys, nil); err != nil {
					t.Errorf("%s: %v in\n%s", c.name, err, text)
				}
			}
		}
		for _, f := range r.Faults {
			fmt.Fprintf(&b, "%s: %s\n", f.Path, f.What)
		}
		if r.OK() {
			b.WriteString("nothing is wrong\n")
		}
		if err := foreign(c.published, c.keys); err != nil {
			b.WriteString("torchwood refuses it\n")
			if r.OK() {
				t.Errorf("%s: torchwood: %v", c.name, err)
			}
		}
	}
	golden(t, "testdata/faults.txt", b.String())
}

// golden compares a text with a file, or writes that.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s (-update writes it): %v\n%s", file, err, got)
	}
}

// Every published byte counts: a log of which any file was changed, cut off or taken away fails.
// What cannot be read ends the check.
func TestCheckEveryFile(t *testing.T) {
	whole, lookups := years(t).publish(t), 0
	for path, text := range whole {
		if strings.Contains(path, "/lookup/") {
			if lookups++; lookups > 3 { // they are many, and all alike
				continue
			}
		}
		flipped := bytes.Clone(text)
		flipped[len(flipped)/2] ^= 1
		p := maps.Clone(whole)
		for how, changed := range map[string][]byte{"flipped": flipped, "cut off": text[:len(text)-1], "empty": {}, "gone": nil} {
			if p[path] = changed; changed == nil {
				delete(p, path)
			}
			r, err := tlog.Check(tlog.Checking{Read: p.read})
			if none := path == tlog.KeysPath && how == "gone"; errors.Is(err, tlog.ErrNoLog) != none || !none && (err != nil || r.OK()) {
				t.Errorf("%s %s: %v, %+v", path, how, err, r.Faults)
			}
		}
		unread := errors.New("the line is cut")
		if r, err := tlog.Check(tlog.Checking{Read: func(asked string) ([]byte, error) {
			if asked == path {
				return nil, unread
			}
			return whole.read(asked)
		}}); !errors.Is(err, unread) || len(r.Faults) > 0 {
			t.Errorf("%s: %v, %+v", path, err, r)
		}
	}
}

// A check ends, whatever the key has signed, and whatever is published.
func TestCheckBounds(t *testing.T) {
	signer, key := keyOf(t, 1)
	b := treeOf(t, 3)
	sized := func(size string) published {
		p := b.publish(t)
		p["/log/checkpoint"] = signNote(t, strings.Replace(signedText(&b.stages[0]), "\n3\n", "\n"+size+"\n", 1), signer)
		return p
	}
	if r := check(t, sized("0"), nil, nil); !strings.Contains(fmt.Sprint(r.Faults), "signs an empty tree") {
		t.Errorf("%+v", r.Faults)
	}
	long := b.publish(t)
	long["/log/checkpoint"] = append(bytes.Clone(long["/log/checkpoint"]), bytes.Repeat([]byte("— x y\n"), 1<<13)...)
	if r := check(t, long, nil, nil); !strings.Contains(fmt.Sprint(r.Faults), "open checkpoint: longer than 65536 bytes") {
		t.Errorf("%+v", r.Faults)
	}
	for _, size := range []string{"9223372036854775807", "4611686018427387905", "4294967297"} {
		if r := check(t, sized(size), nil, nil); r.OK() || !strings.Contains(fmt.Sprint(r.Faults), "got a tree of "+size+" entries") {
			t.Errorf("%s: %+v", size, r.Faults)
		}
	}
	p := sized("16777217")
	if _, err := tlog.Check(tlog.Checking{Read: p.read}); err == nil || !strings.Contains(err.Error(), "want at most 16777216") {
		t.Errorf("%v", err)
	}
	if r := check(t, sized("16777216"), nil, nil); r.OK() || r.Files > 10 {
		t.Errorf("%+v", r)
	}
	none := years(t).publish(t)
	maps.DeleteFunc(none, func(path string, _ []byte) bool { return strings.Contains(path, "/lookup/") })
	if r, err := tlog.Check(tlog.Checking{Read: none.read}); !errors.Is(err, tlog.ErrTooMany) || len(r.Faults) != 100 {
		t.Errorf("%v, %d faults", err, len(r.Faults))
	}
	many := b.publish(t)
	policy := "log " + key + "\n"
	for i := range 101 {
		policy += fmt.Sprintf("witness w%d %s https://w\n", i, tlogtest.Signer("witness.example", byte(i)).Verifier())
	}
	many["/log/policy"] = []byte(policy + "quorum none\n")
	if r := check(t, many, nil, nil); !strings.Contains(fmt.Sprint(r.Faults), "read policy: more than 100 witnesses") {
		t.Errorf("%+v", r.Faults)
	}

	// If every checkpoint is held back, nothing was checked.
	held := b.publish(t)
	delete(held, "/log/checkpoint")
	if r, err := tlog.Check(tlog.Checking{Read: held.read}); !errors.Is(err, tlog.ErrUnsigned) {
		t.Errorf("%v, %+v", err, r)
	}
	// A kept checkpoint of another service cannot be used.
	foreign := bytes.ReplaceAll(b.stages[0].checkpoint, []byte(host), []byte("www.else.example"))
	if _, err := tlog.Check(tlog.Checking{Read: b.publish(t).read, Kept: [][]byte{foreign}}); !errors.Is(err, tlog.ErrKept) {
		t.Errorf("error %v", err)
	}
}

// Strange signatures on a checkpoint are passed over, as many as a note may have, and none of them
// counts as that of the key. Cosignatures may come after the proof was published.
func TestStrangeSignatures(t *testing.T) {
	b := treeOf(t, 3)
	body, own, _ := bytes.Cut(b.stages[0].checkpoint, []byte("\n\n"))
	line := func(name string) []byte { return bytes.Replace(own, []byte(host+"/log"), []byte(name), 1) }
	stranger, _ := namedKey(t, host+"/log", 9)
	_, forgedLine, _ := bytes.Cut(signNote(t, string(body)+"\n", stranger), []byte("\n\n"))
	var many []byte
	for n := range 40 {
		many = append(many, line(fmt.Sprintf("wítness.example/%d", n))...)
	}
	for name, c := range map[string]struct {
		signatures []byte
		passes     bool
	}{
		"40 of strangers, behind":       {append(bytes.Clone(own), many...), true},
		"one of another key, behind":    {append(bytes.Clone(own), forgedLine...), true},
		"one of another key alone":      {forgedLine, false},
		"that of the key, as another's": {line("www.other.example/log"), false},
		"more than a note may have":     {append(bytes.Clone(own), bytes.Repeat(line("x"), 100)...), false},
	} {
		p := b.publish(t)
		p["/log/checkpoint"] = slices.Concat(body, []byte("\n\n"), c.signatures)
		if r := check(t, p, nil, nil); r.OK() != c.passes {
			t.Errorf("%s: %+v", name, r.Faults)
		}
	}
}

// FuzzCheckFile gives a check any text instead of one of the published files.
func FuzzCheckFile(f *testing.F) {
	b := years(f)
	p := b.publish(f)
	paths := []string{
		"/log/vkey", "/log/policy", "/log/checkpoint", "/log/checkpoints/308", "/log/tile/entries/000", "/log/tile/0/000",
		"/log/verifications/2026-11-20.tlog-proof", "/scoreboard.json", tlog.LookupPath(b.HashAt(0)), "/log/tile/1/000.p/1",
	}
	for i, path := range paths {
		f.Add(uint(i), p[path])
		f.Add(uint(i), []byte("# 1\n— x AAAA\n"))
	}
	f.Fuzz(func(t *testing.T, which uint, text []byte) {
		path := paths[which%uint(len(paths))]
		read := func(asked string) ([]byte, error) {
			if asked == path {
				return text, nil
			}
			return p.read(asked)
		}
		r, err := tlog.Check(tlog.Checking{Read: read, Keys: b.Keys})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		if r.OK() && path != "/scoreboard.json" && path != "/log/policy" && !bytes.Equal(text, p[path]) && !bytes.HasPrefix(text, p[path][:len(p[path])/2]) {
			t.Errorf("%s passes as %q", path, text)
		}
	})
}
