package tlog_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// forged is a verification that whoever has the key signs, whatever it says.
type forged struct {
	name    string
	key     int
	entries []tlog.Entry
	counts  *tlog.Counts              // nil for those that the entries give
	board   string                    // the path that the verification names; "" for its own
	asOf    string                    // "" for the day of the name
	text    func(board []byte) []byte // changes the board before it is logged and published
}

// forgery makes a log of forged verifications, and what is published of it.
func forgery(t testing.TB, stages ...forged) *published {
	t.Helper()
	p := &published{files: map[string][]byte{}}
	p.log = tlog.New(nil, nil)
	for n := range 2 {
		_, key := signer(t, n+1)
		p.log.Keys = append(p.log.Keys, key)
	}
	for _, f := range stages {
		s, _ := signer(t, f.key)
		e := tlog.Entry{Kind: tlog.Verification, AsOf: f.asOf, Board: f.board}
		if e.AsOf == "" {
			e.AsOf = f.name[:len(time.DateOnly)]
		}
		if e.Board == "" {
			e.Board = "/scoreboard/" + f.name + ".json"
		}
		counts := f.counts
		if counts == nil { // a trial tells them
			trial := p.log.Clone()
			if err := trial.Forge(f.name, append(f.entries[:len(f.entries):len(f.entries)], e), nil, s); err != nil {
				t.Fatal(err)
			}
			counts = &trial.Current().Entry.Counts
		}
		text := board(e.AsOf, *counts)
		if f.text != nil {
			text = f.text(text)
		}
		sum := sha256.Sum256(text)
		e.BoardSHA256 = hex.EncodeToString(sum[:])
		p.files[e.Board], p.files["/scoreboard.json"] = text, text
		if err := p.log.Forge(f.name, append(f.entries[:len(f.entries):len(f.entries)], e), counts, s); err != nil {
			t.Fatal(err)
		}
	}
	files, err := p.log.Files()
	for _, f := range files {
		if f.Make != nil {
			f.Bytes = f.Make()
		}
		p.files[f.Path] = f.Bytes
	}
	if err != nil { // records stand twice in it, and the look-up is forged
		for index := range p.log.Size() {
			if p.log.IsRecordAt(index) {
				hash := p.log.HashAt(index)
				p.files[tlog.LookupPath(hash)] = p.log.ForgeLookup(hash, true)
			}
		}
	}
	return p
}

// Whoever has the key signs what does not hold together, and publishes all that follows from it.
// A check says so.
func TestCheckDishonestOperator(t *testing.T) {
	a, b := records("a", tlog.Registration, 3), records("b", tlog.Charter, 2)
	first := forged{name: "2026-11-20", key: 1, entries: a}
	replaced := func(old, with string) func([]byte) []byte {
		return func(text []byte) []byte {
			if !bytes.Contains(text, []byte(old)) {
				t.Fatalf("%s does not hold %s", text, old)
			}
			return bytes.Replace(text, []byte(old), []byte(with), 1)
		}
	}
	about := func(kind string, index int64, to string) []tlog.Entry {
		return append(b[:2:2], tlog.Entry{Kind: kind, Index: index, To: to})
	}
	entry := func(kind string, index int64, to string) forged {
		return forged{name: "2026-11-21", key: 1, entries: about(kind, index, to)}
	}
	again := []tlog.Entry{a[1]}
	asCharter := []tlog.Entry{{Kind: tlog.Charter, Hash: a[1].Hash}}
	for name, c := range map[string]struct {
		p    *published
		want string
	}{
		"nothing is wrong": {forgery(t, first, forged{name: "2026-11-21", key: 1, entries: b}, forged{name: "2026-11-22", key: 2}), ""},

		"a count that the entries do not give": {
			forgery(t, first, forged{name: "2026-11-21", key: 1, entries: b, counts: &tlog.Counts{Vouched: 9, Registrations: 3, Charters: 2}}),
			"it says verified_organic_agent_conversions 9, and the entries give verified_organic_agent_conversions 0",
		},
		"a count below zero": {
			forgery(t, first, forged{name: "2026-11-21", key: 1, counts: &tlog.Counts{Registrations: 4, Charters: -1}}),
			"registrations_recorded 4, charters_filed -1",
		},
		"a correction of what is there no more": {forgery(t, first, entry(tlog.Correction, 3, tlog.None)), `entry 3 cannot count as "none"`},
		"a correction of what comes later":      {forgery(t, first, entry(tlog.Correction, 9, tlog.None)), "it is about entry 9"},
		"the same correction twice": {
			forgery(t, first, forged{name: "2026-11-21", key: 1, entries: append(about(tlog.Correction, 0, tlog.None), about(tlog.Correction, 0, tlog.None)[2])}),
			"entry 0 counts as none already",
		},
		"an agent twice":              {forgery(t, first, forged{name: "2026-11-21", key: 1, entries: append(about(tlog.Vouched, 0, ""), about(tlog.Vouched, 0, "")[2])}), "entry 0 is vouched for already"},
		"an agent by a correction":    {forgery(t, first, entry(tlog.Correction, 0, tlog.Vouched)), `entry 0 cannot count as "vouched"`},
		"an agent without a record":   {forgery(t, first, entry(tlog.Vouched, 4, "")), "it vouches for entry 4, which is no registration"},
		"a record twice in a stage":   {forgery(t, forged{name: "2026-11-20", key: 1, entries: append(a[:3:3], a[1])}), "lacks 1 of the records"},
		"a record twice as two kinds": {forgery(t, forged{name: "2026-11-20", key: 1, entries: append(a[:3:3], asCharter...)}), "lacks 1 of the records"},
		"a record in two stages":      {forgery(t, first, forged{name: "2026-11-21", key: 1, entries: again}), "lacks 1 of the records"},
		"a record in two trees":       {forgery(t, first, forged{name: "2026-11-21", key: 2, entries: asCharter}), "lacks 1 of the records"},

		"a board with another number": {
			forgery(t, forged{name: "2026-11-20", key: 1, entries: a, text: replaced(`"registrations_recorded":3`, `"registrations_recorded":33`)}),
			`has "33" as pilot_waitlist.registrations_recorded, and the log 3`,
		},
		"a board with a number twice": {
			forgery(t, forged{name: "2026-11-20", key: 1, entries: a, text: replaced(`"registrations_recorded":3`, `"registrations_recorded":33,"registrations_recorded":3`)}),
			"is no board: ",
		},
		"a board with a number in another part": {
			forgery(t, forged{name: "2026-11-20", key: 1, entries: a, text: func(text []byte) []byte {
				return replaced(`"orgs":{`, `"orgs":{"registrations_recorded":3,`)(replaced(`"registrations_recorded":3`, `"registrations_recorded":33`)(text))
			}}),
			`has "33" as pilot_waitlist.registrations_recorded, and the log 3`,
		},
		"a board with a number in capitals": {
			forgery(t, forged{name: "2026-11-20", key: 1, entries: a, text: replaced(`"registrations_recorded":3`, `"registrations_recorded":33,"Registrations_recorded":3`)}),
			`has "33" as pilot_waitlist.registrations_recorded, and the log 3`,
		},
		"a board without a number": {
			forgery(t, forged{name: "2026-11-20", key: 1, entries: a, text: replaced(`"charters_filed":0`, `"note":0`)}),
			`has "" as orgs.charters_filed, and the log 0`,
		},
		"a board of another day": {
			forgery(t, forged{name: "2026-11-20", key: 1, entries: a, text: replaced("2026-11-20", "2026-11-19")}),
			`is as of "2026-11-19", and its verification as of 2026-11-20`,
		},
		"the board of another verification": {
			forgery(t, first, forged{name: "2026-11-21", key: 1, entries: b, board: "/scoreboard/2026-11-20.json", asOf: "2026-11-20"}),
			"there are two verifications 2026-11-20",
		},
		"a board that is none": {forgery(t, first, forged{name: "2026-11-21", key: 1, board: "/log/vkey"}), `its board "/log/vkey" is not that of a verification`},
		"a day that there is not": {
			forgery(t, first, forged{name: "2026-11-31", key: 1}), `its board "/scoreboard/2026-11-31.json" is not that of a verification`,
		},
		"no day":              {forgery(t, first, forged{name: "2026-11-21", key: 1, asOf: "2026-11"}), `is not that of a verification as of "2026-11"`},
		"a day that is over":  {forgery(t, first, forged{name: "2026-11-19", key: 1}), "verification 2026-11-19 stands behind 2026-11-20"},
		"the number before":   {forgery(t, forged{name: "2026-11-20-10", key: 1}, forged{name: "2026-11-20-9", key: 1}), "verification 2026-11-20-9 stands behind 2026-11-20-10"},
		"an older second key": {forgery(t, forged{name: "2026-11-20", key: 1}, forged{name: "2026-11-19", key: 2}), "verification 2026-11-19 stands behind 2026-11-20"},
	} {
		r := check(t, c.p, tlog.Checking{})
		said := fmt.Sprint(r.Faults)
		if r.OK() != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
		if len(c.p.log.Stages) == 1 {
			continue
		}
		since := check(t, c.p.clone(), tlog.Checking{Kept: c.p.log.Stages[0].Checkpoint})
		if since.OK() != (c.want == "") {
			t.Errorf("%s: since the first verification %+v", name, since.Faults)
		}
	}
}

// What was kept from the newest verification shows a board that says otherwise since.
func TestCheckSinceBoard(t *testing.T) {
	p := publish(t, nil, addition{"2026-11-20", 1, records("a", tlog.Charter, 2)})
	o := tlog.Checking{Kept: p.log.Stages[0].Checkpoint}
	if r := check(t, p, o); !r.OK() || r.From != p.log.Size() {
		t.Errorf("from %d: %+v", r.From, r.Faults)
	}
	p.files["/scoreboard.json"] = board("2026-11-20", tlog.Counts{Charters: 3})
	if r := check(t, p, o); r.OK() {
		t.Error("no fault")
	}
}

// A tree of more entries than there can be is refused at once, whoever has signed it.
func TestHugeTree(t *testing.T) {
	p := publish(t, nil, addition{"2026-11-20", 1, records("a", tlog.Charter, 2)})
	hash := p.log.HashAt(0)
	proved, err := p.log.Prove(hash)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := signer(t, 1)
	for _, size := range []string{"9223372036854775807", "4611686018427387905", "4294967297"} {
		huge := signNote(t, strings.Replace(signedText(&stage{checkpoint: p.log.Stages[0].Checkpoint}), "\n3\n", "\n"+size+"\n", 1), s)
		proved.Proof.Checkpoint = huge
		if _, err := proved.Proof.Verify([]byte("entry"), p.log.Keys, nil); err == nil || !strings.Contains(err.Error(), "its tree has "+size+" entries") {
			t.Errorf("%s: %v", size, err)
		}
	}
}

// Strange signatures on a checkpoint are passed over, as many as a note may have, and none of them
// stands for that of the key.
func TestStrangeSignatures(t *testing.T) {
	p := publish(t, nil, addition{"2026-11-20", 1, records("a", tlog.Charter, 2)})
	note := p.log.Stages[0].Checkpoint
	body, own, _ := bytes.Cut(note, []byte("\n\n"))
	line := func(name string) []byte { return bytes.Replace(own, []byte("www.base.example/log"), []byte(name), 1) }
	stranger, _ := namedKey(t, "www.base.example/log", 9)
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
		"40 of strangers, before":       {append(bytes.Clone(many), own...), true},
		"the same twice":                {append(bytes.Clone(own), own...), true},
		"one of another key, behind":    {append(bytes.Clone(own), forgedLine...), true},
		"one of another key alone":      {forgedLine, false},
		"that of the key, as another's": {line("www.other.example/log"), false},
		"none":                          {nil, false},
		"a name with a space":           {line("www.base.example /log"), false},
		"more than a note may have":     {append(bytes.Clone(own), bytes.Repeat(line("x"), 100)...), false},
	} {
		q := p.clone()
		changed := append(append(bytes.Clone(body), "\n\n"...), c.signatures...)
		q.files["/log/checkpoint"] = changed
		if r := check(t, q, tlog.Checking{}); r.OK() != c.passes {
			t.Errorf("%s: %+v", name, r.Faults)
		}
		if _, err := tlog.Open(changed, p.log.Keys, nil); (err == nil) != c.passes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where every checkpoint is held back nothing was checked, and nothing is as it should be.
func TestCheckWithoutCheckpoint(t *testing.T) {
	p := publish(t, nil, addition{"2026-11-20", 1, records("a", tlog.Charter, 2)})
	delete(p.files, "/log/checkpoint")
	if r, err := tlog.Check(&tlog.Checking{Read: p.read}); !errors.Is(err, tlog.ErrUnsigned) {
		t.Errorf("%v, %+v", err, r)
	}
	if r, err := tlog.Check(&tlog.Checking{Read: p.read, Kept: p.log.Stages[0].Checkpoint}); err != nil || r.OK() {
		t.Errorf("since a checkpoint: %v, %+v", err, r)
	}
}
