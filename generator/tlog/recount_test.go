package tlog_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/tlog"
)

// kinds are the kinds of records by their letters in the scripts of TestRecount.
var kinds = map[string]string{"r": tlog.Registration, "c": tlog.Charter, "s": tlog.Suggestion, "o": tlog.Own}

// scripted gives entries: r, c, s and o are records, v0 vouches for entry 0, and 0:own corrects it.
func scripted(t testing.TB, text string) (entries []tlog.Entry) {
	t.Helper()
	for i, word := range strings.Fields(text) {
		e := tlog.Entry{}
		index, to, corrects := strings.Cut(word, ":")
		number, vouches := strings.CutPrefix(word, "v")
		switch {
		case kinds[word] != "":
			e = recordOf(kinds[word], i)
		case vouches:
			e.Kind, index = tlog.Vouched, number
		case corrects:
			e.Kind, e.To = tlog.Correction, to
		}
		if kinds[word] == "" {
			n, err := strconv.ParseInt(index, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			e.Index = n
		}
		entries = append(entries, e)
	}
	return entries
}

// What entries count, or why one of them cannot be there.
func TestRecount(t *testing.T) {
	for _, c := range []struct {
		first, second string // the entries of two stages; entry len(first) is a verification
		want          tlog.Counts
		counts        string // what each entry of a record, and each that vouches, counts as
		refused       string
	}{
		{"r r c s o", "", tlog.Counts{Registrations: 2, Charters: 1, Suggestions: 1, Own: 1}, "registration registration charter suggestion own", ""},

		// Who is vouched for.
		{"r v0", "", tlog.Counts{Vouched: 1, Registrations: 1}, "registration vouched", ""},
		{"o 0:registration v0", "", tlog.Counts{Vouched: 1, Registrations: 1}, "registration vouched", ""},
		{"o v0", "", tlog.Counts{}, "", "1 agents are vouched for, but their registrations do not count"},
		{"r v0 0:own", "", tlog.Counts{}, "", "1 agents are vouched for, but their registrations do not count"},
		{"r v0 1:none 0:own 1:vouched", "", tlog.Counts{}, "", "1 agents are vouched for, but their registrations do not count"},
		{"r v0 0:own 1:none", "", tlog.Counts{Own: 1}, "own none", ""},
		{"r v0", "0:own 1:none 0:registration 1:vouched", tlog.Counts{Vouched: 1, Registrations: 1}, "registration vouched", ""},
		{"c v0", "", tlog.Counts{}, "", "entry 0 is vouched for, but is not a registration"},
		{"r v0 v0", "", tlog.Counts{}, "", "entry 0 is already vouched for"},
		{"v0", "", tlog.Counts{}, "", "index 0: want one of the 0 entries before it"},

		// Corrections.
		{"o 0:registration 0:own 0:none 0:registration", "", tlog.Counts{Registrations: 1}, "registration", ""},
		{"o 0:registration", "0:none 0:charter", tlog.Counts{}, "", `entry 0 cannot count as "charter"`},
		{"r", "c", tlog.Counts{}, "", "entry 2 repeats the record of entry 0"},
		{"r 0:vouched", "", tlog.Counts{}, "", `entry 0 cannot count as "vouched"`},
		{"r 0:registration", "", tlog.Counts{}, "", "entry 0 already counts as registration"},
		{"r 0:own 1:none", "", tlog.Counts{}, "", `entry 1 cannot count as "none"`},
	} {
		b := empty(t)
		err := b.try(t, "2026-11-20", scripted(t, c.first)...)
		if err == nil {
			err = b.try(t, "2026-11-21", scripted(t, c.second)...)
		}
		if c.refused != "" {
			if err == nil || !strings.HasSuffix(err.Error(), ": "+c.refused) {
				t.Errorf("%q %q: %v, want %s", c.first, c.second, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q %q: %v", c.first, c.second, err)
			continue
		}
		l, faults := readAll(b.Key, nil, b.stages)
		if faults != nil || l.Counts() != c.want || b.Counts() != c.want || l.Current().Counts != c.want {
			t.Errorf("%q %q: %+v, want %+v %s", c.first, c.second, l.Counts(), c.want, lineOf(faults))
		}
		var counts []string
		vouched := map[int64]int64{}
		for index := range l.Size() {
			e := l.Entry(index)
			if tlog.IsRecord(e.Kind) || e.Kind == tlog.Vouched {
				counts = append(counts, l.CountsAs(index))
			}
			if e.Kind == tlog.Vouched {
				vouched[e.Index] = index
			}
		}
		if got := strings.Join(counts, " "); got != c.counts || !reflect.DeepEqual(l.VouchedAt(), vouched) {
			t.Errorf("%q %q: %s, want %s; vouched for are %v, want %v", c.first, c.second, got, c.counts, l.VouchedAt(), vouched)
		}
	}
}

// A record is named by a hash that its answer gives.
func TestRecordHash(t *testing.T) {
	for want, of := range map[string][2]string{
		"13664386e156e985151987e9ff83b4996a01e33b3359dff48e03c19367608e63": {"reg_1", "payload"}, // printf 'reg_1\npayload' | sha256sum
		"cd881051aae40d762ccaed3308a0cf6936efa47228d2d39742ffd06ba239d0fa": {"sug_1", ""},        // printf 'sug_1' | sha256sum
	} {
		if got := tlog.RecordHash(of[0], of[1]); got != want {
			t.Errorf("%q: %s, want %s", of, got, want)
		}
	}
}
