package civil_test

import (
	"testing"
	"time"

	"anteroom/edge/civil"
)

func TestCivilTime(t *testing.T) {
	for day := civil.DaysOf(1, 1, 1); day <= civil.DaysOf(9999, 12, 31); day += 13 {
		want := time.Unix(int64(day)*86400, 0).UTC()
		if got := civil.FormatDate(day); got != want.Format("2006-01-02") {
			t.Fatalf("day %d is %s, want %s", day, got, want.Format("2006-01-02"))
		}
		if back, ok := civil.ParseDate(civil.FormatDate(day)); !ok || back != day {
			t.Fatalf("day %d reads back as %d", day, back)
		}
	}
	for _, s := range []int64{0, 59, 86399, 86400, 951782399, 1795176000, 4102444799, 253402300799} {
		if got, want := civil.FormatTime(s), time.Unix(s, 0).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%d is %s, want %s", s, got, want)
		}
	}
	for _, s := range []string{"", "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "2026-1-01", "02026-01-01", "2026-01-01Z", "0000-01-01", "2026/01/01", "+026-01-01", "٢٠٢٦-٠١-٠١"} {
		if _, ok := civil.ParseDate(s); ok {
			t.Errorf("%q is taken as a date", s)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{"2026-11-20", "2024-02-29", "1900-02-29", "9999-12-31", "0001-01-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		days, ok := civil.ParseDate(s)
		want, err := time.Parse("2006-01-02", s)
		if wanted := err == nil && want.Year() > 0; ok != wanted {
			t.Fatalf("%q: %v, want %v", s, ok, wanted)
		}
		if ok && civil.FormatDate(days) != s {
			t.Fatalf("%q reads back as %q", s, civil.FormatDate(days))
		}
	})
}
