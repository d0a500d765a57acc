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

// The words of a board are as fixed as its counts, whatever its line ends become.
func TestBoardIsFixed(t *testing.T) {
	const board, verification = "scoreboard/2026-01-31.yaml", "verifications/2026-01-31.yaml"
	for _, c := range []struct{ old, changed, want string }{
		{"", "", "<nil>"},
		{"\n", "\r\n", "<nil>"},
		{"# ", "# Edited: ", "scoreboard/2026-01-31.yaml:1:1: the board has changed: its hash does not match verifications/2026-01-31.yaml " +
			"(restore both from git; correct texts on the next board)"},
	} {
		fsys := base(t)
		fsys[board].Data = append([]byte("format: 1 # As verified.\n"), fsys[board].Data...)
		fixed := fmt.Sprintf("\nformat: 1\nboard_file_sha256: %s\nreceipt_keys:", SumOfBoard(fsys[board].Data))
		fsys[verification].Data = bytes.Replace(fsys[verification].Data, []byte("\nreceipt_keys:"), []byte(fixed), 1)
		setSums(fsys)
		fsys[board].Data = bytes.ReplaceAll(fsys[board].Data, []byte(c.old), []byte(c.changed))
		if _, err := Load(fsys); fmt.Sprint(err) != c.want {
			t.Errorf("%q for %q: %v, want %s", c.changed, c.old, err, c.want)
		}
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
