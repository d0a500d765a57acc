package tlog_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

const host = "www.base.example"

// keyOf gives the key of the logs of tests, which is always the same.
func keyOf(t testing.TB) (signer note.Signer, key string) {
	t.Helper()
	return namedKey(t, host+"/log", 1)
}

func namedKey(t testing.TB, name string, seed byte) (signer note.Signer, key string) {
	t.Helper()
	secret, key, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)), name)
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	return signer, key
}

// signNote signs any text as a note.
func signNote(t testing.TB, text string, signers ...note.Signer) []byte {
	t.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// stage is what a content has of a stage.
type stage struct {
	name              string
	lines, checkpoint []byte
}

// signedText is what the checkpoint of a stage signs.
func signedText(s *stage) string {
	body, _, _ := strings.Cut(string(s.checkpoint), "\n\n")
	return body + "\n"
}

// book is a log with its content.
type book struct {
	*tlog.Log
	stages []stage
	boards map[string][]byte

	receiptKeys []string // of the next verification
}

// empty is a log without entries.
func empty(t testing.TB) *book {
	t.Helper()
	_, key := keyOf(t)
	return &book{Log: tlog.New(key, nil), boards: map[string][]byte{}}
}

// add adds a stage, as a hand verification does, with its board.
func (b *book) add(t testing.TB, name string, entries ...tlog.Entry) *book {
	t.Helper()
	if err := b.try(t, name, entries...); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *book) try(t testing.TB, name string, entries ...tlog.Entry) error {
	t.Helper()
	signer, _ := keyOf(t)
	asOf := name[:len("2026-11-20")]
	trial := b.Clone() // which tells the counts
	if _, _, err := trial.Append(name, append(slices.Clip(entries), tlog.VerificationOf(name, asOf, nil)), signer); err != nil {
		return err
	}
	text := board(asOf, trial.Counts())
	verified := tlog.VerificationOf(name, asOf, text)
	verified.ReceiptKeys = append(verified.ReceiptKeys, b.receiptKeys...)
	lines, checkpoint, err := b.Append(name, append(slices.Clip(entries), verified), signer)
	b.boards[tlog.BoardPath(name)], b.boards["/scoreboard.json"] = text, text
	b.stages = append(b.stages, stage{name, lines, checkpoint})
	return err
}

// board is a document with the numbers of a verification.
func board(asOf string, c tlog.Counts) []byte {
	return fmt.Appendf(nil, `{"as_of":%q,"pilot_waitlist":{"verified_organic_agent_conversions":%d,"registrations_recorded":%d},"orgs":{"charters_filed":%d},`+
		`"suggestions":{"received_external":%d,"shipped":4},"excluded_from_counts":{"development_seed_and_test_records":%d}}`,
		asOf, c.Vouched, c.Registrations, c.Charters, c.Suggestions, c.Own)
}

// recordOf is an entry of a record, other than that of any other number.
func recordOf(kind string, number int) tlog.Entry {
	return tlog.Entry{Kind: kind, Hash: tlog.RecordHash(strconv.Itoa(number), "payload")}
}

// records are entries of n records of a kind, which have no number in common with those of another
// series.
func records(series int, kind string, n int) (entries []tlog.Entry) {
	for i := range n {
		entries = append(entries, recordOf(kind, series*100_000+i))
	}
	return entries
}

func correction(index int64, to string) tlog.Entry {
	return tlog.Entry{Kind: tlog.Correction, Index: index, To: to}
}

func vouched(index int64) tlog.Entry { return tlog.Entry{Kind: tlog.Vouched, Index: index} }

// treeOf makes a log with stages of these sizes, of registrations.
func treeOf(t testing.TB, sizes ...int64) *book {
	t.Helper()
	b := empty(t)
	for _, size := range sizes {
		b.grow(t, size)
	}
	return b
}

// grow adds a stage of registrations, with which the log has size entries.
func (b *book) grow(t testing.TB, size int64) {
	t.Helper()
	var entries []tlog.Entry
	for n := b.Size(); n < size-1; n++ {
		entries = append(entries, recordOf(tlog.Registration, int(n)))
	}
	b.add(t, fmt.Sprintf("2026-11-%02d", len(b.stages)+1), entries...)
}

// years is a log of four verifications, with corrections of earlier entries.
func years(t testing.TB) *book {
	t.Helper()
	b := empty(t)
	b.add(t, "2026-11-20", slices.Concat(records(1, tlog.Registration, 300), records(2, tlog.Charter, 2), records(3, tlog.Suggestion, 1), records(4, tlog.Own, 4))...)
	b.add(t, "2026-11-21", append(records(5, tlog.Registration, 400), correction(7, tlog.Own), vouched(12))...)
	b.add(t, "2026-11-21-2", records(6, tlog.Registration, 53)...)
	return b.add(t, "2027-01-02", append(records(7, tlog.Charter, 5), correction(8, tlog.None))...)
}

// readAll reads the content of a log, up to the first fault.
func readAll(key string, witnesses []tlog.Witness, stages []stage) (*tlog.Log, *tlog.Fault) {
	l := tlog.New(key, witnesses)
	for _, s := range stages {
		if fault := l.Read(s.name, s.lines, s.checkpoint); fault != nil {
			return l, fault
		}
	}
	return l, nil
}

// lineOf is a fault as a line, and "" for none.
func lineOf(f *tlog.Fault) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%d: %s\n", f.Line, f.What)
}

// published are files by their paths. Its read is a tlog.Source.
type published map[string][]byte

func (p published) read(path string) ([]byte, error) {
	text, there := p[path]
	if !there {
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	return text, nil
}

// publish gives what a service publishes of a log.
func (b *book) publish(t testing.TB) published {
	t.Helper()
	p := published(filesOf(t, b.Log))
	maps.Copy(p, b.boards)
	return p
}

// filesOf are the files of a log by their paths. A path may not come twice.
func filesOf(t testing.TB, l *tlog.Log) map[string][]byte {
	t.Helper()
	list, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range list {
		if files[f.Path] != nil {
			t.Errorf("%s is published twice", f.Path)
		}
		files[f.Path] = f.Bytes
	}
	return files
}
