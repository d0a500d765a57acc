package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/cloudflare/apitest"
)

func TestObserved(t *testing.T) {
	s, server := openStore(t)
	if rows, err := s.Observed(t.Context(), "", ""); err != nil || len(rows) != 0 {
		t.Errorf("nothing observed: %v, %v", rows, err)
	}
	server.Observe(t, apitest.Observed{Day: "2026-11-19", Client: "a \"client\"", Kind: "initialize", N: 3},
		apitest.Observed{Day: "2026-11-20", Client: "7", Kind: "", N: 1 << 60})
	const want = "[{2026-11-19 a \"client\" initialize 3} {2026-11-20 7  1152921504606846976}]"
	for _, test := range []struct{ since, through, where string }{
		{"", "", ""},
		{"2026-11-19", "", " WHERE timestamp >= toDateTime('2026-11-19 00:00:00')"},
		{"", "2026-12-31", " WHERE timestamp < toDateTime('2027-01-01 00:00:00')"},
		{"2026-11-19", "2026-11-20", " WHERE timestamp >= toDateTime('2026-11-19 00:00:00') AND timestamp < toDateTime('2026-11-21 00:00:00')"},
	} {
		if rows, err := s.Observed(t.Context(), test.since, test.through); err != nil || fmt.Sprint(rows) != want {
			t.Errorf("%v: %v, %v", test, rows, err)
		}
		calls := server.Calls()
		if body := calls[len(calls)-1].Body; !strings.Contains(body, " FROM anteroom_observed"+test.where+" GROUP BY ") {
			t.Errorf("%v: asked %s", test, body)
		}
	}
	for _, day := range []string{"2026-11-31", "2026-11-19' OR 1", "yesterday"} {
		_, err := s.Observed(t.Context(), day, "")
		wantError(t, err, "is no day (give YYYY-MM-DD)")
	}
	for _, test := range []struct {
		name  string
		fault apitest.Fault
		says  string
	}{
		{"not enabled", apitest.Refuse(403, 10089, "You need to enable Analytics Engine"), "enable Analytics Engine for the account"},
		{"no permission", apitest.Refuse(403, 10000, "Authentication error"), "Account Analytics, Read"},
		{"plain words", func(w http.ResponseWriter, _ func() apitest.Answer) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(422)
			w.Write([]byte("unable to find a table"))
		}, `422: "unable to find a table"`},
		{"cut short", apitest.CutShort, "cut off"},
		{"a row less", apitest.Change(func(body string) string { return strings.Replace(body, `"rows":2`, `"rows":3`, 1) }), "lacks rows"},
	} {
		server.Fail(test.fault)
		rows, err := s.Observed(t.Context(), "", "")
		wantError(t, err, "Analytics Engine", test.says)
		if rows != nil {
			t.Errorf("%s: rows %v", test.name, rows)
		}
	}
	server.Fail(apitest.Change(func(body string) string { return strings.ReplaceAll(body, `"kind"`, `"sort"`) }))
	_, err := s.Observed(t.Context(), "", "")
	wantError(t, err, "has the columns")
	server.Fail(apitest.Change(func(body string) string { return strings.Replace(body, `"2026-11-19"`, `null`, 1) }))
	_, err = s.Observed(t.Context(), "", "")
	wantError(t, err, "row 1 of the answer")

	s.dataset = ""
	if _, err := s.Observed(t.Context(), "", ""); !errors.Is(err, ErrNoDataset) {
		t.Errorf("no dataset: %v", err)
	}
}

func TestDecodeAnalytics(t *testing.T) {
	const meta = `"meta":[{"name":"a","type":"String"},{"name":"n","type":"UInt64"}]`
	for body, want := range map[string]string{
		`{` + meta + `,"data":[{"a":"7","n":"7"},{"n":8,"a":null}],"rows":2}`: "[a n] [[7 7] [<nil> 8]] <nil>",
		`{` + meta + `,"data":[],"rows":0,"rows_before_limit_at_least":0}`:    "[a n] [] <nil>",
		`{` + meta + `,"data":[],"rows":0,"rows_before_limit_at_least":1}`:    "[] [] the answer lacks rows (ask for fewer days)",
		`{` + meta + `,"data":[]}`:                              "[] [] the answer lacks rows (ask for fewer days)",
		`{` + meta + `,"rows":0}`:                               "[] [] " + cloudflare.ErrNoAnswer.Error(),
		`{"data":[],"rows":0}`:                                  "[] [] " + cloudflare.ErrNoAnswer.Error(),
		`{` + meta + `,"data":[{"a":"x"}],"rows":1}`:            "[] [] row 1 lacks column \"n\"",
		`{` + meta + `,"data":[{"a":"x","n":"many"}],"rows":1}`: "[] [] row 1, column \"n\" is not as Analytics Engine writes it",
		`{` + meta + `,"data":[{"a":"x","n":1.5}],"rows":1}`:    "[] [] row 1, column \"n\" is not as Analytics Engine writes it",
		`{` + meta + `,"data":[{"a":{},"n":1}],"rows":1}`:       "[] [] row 1, column \"a\" is not as Analytics Engine writes it",
	} {
		columns, rows, err := decodeAnalytics([]byte(body))
		if got := fmt.Sprint(columns, rows, err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
}

// FuzzDecodeAnalytics: every row has a value for each column, or there is no row.
func FuzzDecodeAnalytics(f *testing.F) {
	f.Add(`{"meta":[{"name":"a","type":"String"},{"name":"n","type":"UInt64"}],"data":[{"a":"7","n":"7"}],"rows":1}`)
	f.Add(`{"meta":[{"name":"a","type":"String"}],"data":[{"a":"7"},{}],"rows":2}`)
	f.Fuzz(func(t *testing.T, body string) {
		columns, rows, err := decodeAnalytics([]byte(body))
		if err != nil && (rows != nil || columns != nil) {
			t.Errorf("a part of %s", body)
		}
		for _, row := range rows {
			checkRow(t, row, len(columns))
		}
	})
}
