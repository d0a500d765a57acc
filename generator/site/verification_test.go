package site

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/assets"
	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

// setSum makes the last line of a verification's file right.
func setSum(file *fstest.MapFile) {
	at := bytes.LastIndex(file.Data, []byte("\nsum: ")) + 1
	file.Data = fmt.Appendf(slices.Clone(file.Data[:at]), "sum: %q\n", assets.SumOf(file.Data[:at]))
}

var followsSum = regexp.MustCompile(`(?m)^follows_sha256: .*$`)

// setSums makes the sums of all verifications right.
func setSums(fsys fstest.MapFS) {
	var names []string
	for file := range fsys {
		if dir, base := path.Split(file); dir == "verifications/" {
			names = append(names, strings.TrimSuffix(base, ".yaml"))
		}
	}
	slices.SortFunc(names, tlog.CompareNames)
	previous := ""
	for _, name := range names {
		file := fsys["verifications/"+name+".yaml"]
		file.Data = followsSum.ReplaceAll(file.Data, fmt.Appendf(nil, "follows_sha256: %q", previous))
		setSum(file)
		previous = assets.SumOf(file.Data)
	}
}

// decodeVerification reads a verification's file.
func decodeVerification(src []byte) (*Verification, Errors) {
	v, d := &Verification{}, newDocument("f")
	d.decode(src, v)
	return v, d.faults
}

// A verification that is written is read as it was, whatever its reasons hold, and no byte of it
// can be changed unseen.
func TestEncode(t *testing.T) {
	const record = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	v := &Verification{Host: "www.base.example", Through: "2026-01-31T12:00:00Z", Told: map[string]int{}}
	for _, kind := range Kinds {
		v.Covers(kind).SHA256 = EmptyDigest
	}
	for _, reason := range []string{"", "it's mine", "a: b # c", "- [x", "'", `"a\n"`, "yes", "2026-01-31", "é…", "* &a !b |"} {
		v.Decisions = append(v.Decisions, Decision{Kind: Charter, Decision: Own, Reason: reason, Records: record})
	}
	for _, store := range []string{"", "00e1"} {
		v.Store = store
		src := v.Encode()
		read, faults := decodeVerification(src)
		if len(faults) > 0 {
			t.Fatalf("%v\n%s", faults, src)
		}
		for i := range v.Decisions {
			if read.Decisions[i] != v.Decisions[i] {
				t.Errorf("read %+v, want %+v", read.Decisions[i], v.Decisions[i])
			}
		}
		if sum := read.Sum; !sumHolds(src, sum) || read.Store != store || v.SHA256 != assets.SumOf(src) {
			t.Errorf("the sum %s does not hold, or the store is %q", sum, read.Store)
		}
		for at := 0; at < len(src); at += 7 {
			changed := slices.Clone(src)
			changed[at] ^= 1
			if read, faults := decodeVerification(changed); len(faults) == 0 && sumHolds(changed, read.Sum) && !bytes.Contains(src[at:], []byte("sum:")) {
				// In the last line only its quotation marks and the spaces are free.
				t.Fatalf("a change of byte %d is not seen:\n%s", at, changed)
			}
		}
		if sumHolds(append(src, "# more\n"...), v.Sum) {
			t.Error("what follows the sum is not seen")
		}
	}
}

// A verification covers no less than the one before it, and of the same store, unless records are
// lost. Its board says so then.
func TestFollowing(t *testing.T) {
	previous := &Verification{File: "2026-01-30", Store: "one", Through: "2026-01-30T12:00:00Z", SHA256: EmptyDigest}
	previous.Registrations = Coverage{Last: 7, Total: 5}
	for _, c := range []struct {
		store, lost string
		last, total int
		want        string
	}{
		{"one", "", 7, 5, ""},
		{"one", "", 6, 5, "covers 5 registrations up to number 6, and verifications/2026-01-30.yaml covers 5 up to number 7 ("},
		{"two", "a disk", 3, 2, "correction must name the lost records"},
	} {
		d := newDocument("f")
		v := &Verification{
			File: "2026-01-31", Store: c.store, Through: "2026-01-31T12:00:00Z", Lost: c.lost,
			Follows: previous.File, FollowsSHA256: previous.SHA256, Told: map[string]int{},
		}
		v.Registrations = Coverage{Last: c.last, Total: c.total}
		for _, n := range Numbers {
			if n.Told {
				v.Told[n.Path] = 0
			}
		}
		ledger := newLedger()
		checkVerification(d, v, previous, ledger)
		board := &Scoreboard{}
		board.PilotWaitlist.RegistrationsRecorded = c.total
		checkCounts(d, board, v, ledger)
		if len(d.faults) != min(1, len(c.want)) || len(d.faults) == 1 && !strings.Contains(d.faults.Error(), c.want) {
			t.Errorf("%+v: %v", c, d.faults)
		}
	}
}

// The words of a board are as fixed as its counts, whatever its line ends become.
func TestBoardIsFixed(t *testing.T) {
	const board, verification = "scoreboard/2026-01-31.yaml", "verifications/2026-01-31.yaml"
	for _, c := range []struct{ old, changed, want string }{
		{"", "", "<nil>"},
		{"\n", "\r\n", "<nil>"},
		{"# ", "# Edited: ", "scoreboard/2026-01-31.yaml:2:1: the board has changed: its hash does not match verifications/2026-01-31.yaml " +
			"(restore both from git; the next board mends a text)"},
	} {
		fsys := base(t)
		fsys[board].Data = append([]byte("# As verified.\n"), fsys[board].Data...)
		fixed := fmt.Sprintf("\nboard_file_sha256: %s\nreceipt_keys:", SumOfBoard(fsys[board].Data))
		fsys[verification].Data = bytes.Replace(fsys[verification].Data, []byte("\nreceipt_keys:"), []byte(fixed), 1)
		setSums(fsys)
		fsys[board].Data = bytes.ReplaceAll(fsys[board].Data, []byte(c.old), []byte(c.changed))
		if _, err := Load(fsys); fmt.Sprint(err) != c.want {
			t.Errorf("%q for %q: %v, want %s", c.changed, c.old, err, c.want)
		}
	}
}

func TestCheckDay(t *testing.T) {
	fsys := base(t)
	s, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for today, want := range map[string]string{
		"2026-01-31": "<nil>",
		"2026-02-01": "<nil>",
		"2026-01-30": "scoreboard/2026-01-31.yaml:2:8: as_of is 2026-01-31, and today is 2026-01-30 (correct this machine's clock, or SOURCE_DATE_EPOCH if it is set; if the clock was ahead when the board was made, " +
			"remove it with its verifications/2026-01-31.yaml, or wait if it is published)",
	} {
		if got := fmt.Sprint(s.CheckDay(today)); got != want {
			t.Errorf("on %s: %s", today, got)
		}
	}
}

// A revoked key is in force for no day, and each retired one for its own.
func TestInForce(t *testing.T) {
	s := Service{}
	s.ReceiptKeys.Retired = []model.RetiredKey{
		{PublicKey: "first", CurrentFrom: "2026-01-01", RetiredOn: "2026-03-01"},
		{PublicKey: "stolen", RetiredOn: "2026-11-01", Revoked: "it leaked"},
		{PublicKey: "second", RetiredOn: "2026-12-01"},
	}
	want := []string{"first@2026-01-01..2026-03-01", "second@..2026-12-01"}
	if got := s.InForce(); !slices.Equal(got, want) {
		t.Errorf("without a current key: %q, want %q", got, want)
	}
	s.ReceiptKeys.Current = "current"
	want = append([]string{"current"}, want...)
	if got := s.InForce(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzVerification holds that whatever is read can be entered and counted, and is the same when it
// is written and read again.
func FuzzVerification(f *testing.F) {
	seeds(f, "../../content/verifications/*.yaml")
	f.Add([]byte("decisions: [{kind: charter, decision: own, records: a}, {kind: none, decision: vouch}]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		v, faults := decodeVerification(src)
		ledger := newLedger()
		ledger.Enter(v)
		ledger.Enter(v)
		ledger.Counts()
		sumHolds(src, v.Sum)
		if len(faults) > 0 || v.Told == nil || !sumHolds(src, v.Sum) || !bytes.HasPrefix(src, []byte("# What a hand verification")) {
			return
		}
		if again, faults := decodeVerification(v.Encode()); len(faults) > 0 || fmt.Sprint(again.Decisions) != fmt.Sprint(v.Decisions) {
			t.Fatalf("%v: %+v became %+v", faults, v, again)
		}
	})
}
