package bizday_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/turn"
)

const path = "/api/business-days"

// ask gets the answer to a query, whose status must be 200.
func ask(t *testing.T, query string) map[string]any {
	t.Helper()
	h := edgetest.NewFake(t)
	r := h.Do("GET", path+"?"+query, "")
	if r.Status != 200 || r.Get("cache-control") != "no-store" || r.Get("etag") != "" || len(h.Limits) != 0 {
		t.Fatalf("%s: %d %v %s", query, r.Status, r.Header, r.Body)
	}
	return edgetest.Decode(t, r)
}

func holidays(v any) (dates []string) {
	for _, h := range v.([]any) {
		m := h.(map[string]any)
		dates = append(dates, m["date"].(string)+" "+m["calendar"].(string)+" "+m["name"].(string))
	}
	return dates
}

func TestResults(t *testing.T) {
	for query, want := range map[string]any{
		"op=is&calendar=de&date=2026-10-03":                                 false, // a Saturday
		"op=is&calendar=de&date=2050-12-31":                                 false,
		"op=add&calendar=de&start=2026-11-21&days=-1":                       "2026-11-20",
		"op=add&calendar=de&start=2000-01-01&days=12919":                    "2050-12-30",
		"op=count&calendar=de&start=2026-11-16&end=2026-11-23":              5.,
		"op=count&calendar=eu-target&start=2000-01-01&end=2050-12-31":       13057.,
		"op=next&calendar=de&date=2026-11-20":                               "2026-11-23",
		"op=previous&calendar=de&date=2026-11-23":                           "2026-11-20",
		"op=roll&calendar=de&date=2026-10-31&convention=unadjusted":         "2026-10-31",
		"op=roll&calendar=de&date=2050-12-31&convention=modified-following": "2050-12-30",
		"op=roll&calendar=de&date=2000-01-01&convention=modified-preceding": "2000-01-03",
	} {
		if got := ask(t, query)["result"]; got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	body := ask(t, "op=count&calendar=us-nyse,%20gb-eng%20,us-nyse&start=2026-12-24&end=2026-12-28&convention=nearest&year=x&foo=1")
	want := map[string]any{
		"op": "count", "calendar": []any{"us-nyse", "gb-eng"}, "start": "2026-12-24", "end": "2026-12-28", "convention": nil, "result": 1., "inclusive": 1.,
		"holidays_skipped": []any{
			map[string]any{"date": "2026-12-25", "name": "Christmas Day", "calendar": "us-nyse"}, map[string]any{"date": "2026-12-25", "name": "Christmas Day", "calendar": "gb-eng"},
		},
		"holidays_skipped_total": 2., "data_version": bizday.DataVersion, "caveat": bizday.Caveat, "ignored_fields": []any{"convention", "year", "foo"},
	}
	for _, member := range []string{"notice", "served_from", "canonical_host", "host_note"} {
		delete(body, member)
	}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("got  %v\nwant %v", body, want)
	}
	reversed := ask(t, "op=count&calendar=gb-eng,us-nyse&start=2026-12-28&end=2026-12-24")
	if reversed["result"] != -1. || reversed["inclusive"] != -1. || !slices.Equal(holidays(reversed["holidays_skipped"]), []string{"2026-12-25 gb-eng Christmas Day", "2026-12-25 us-nyse Christmas Day"}) {
		t.Errorf("reversed: %v", reversed)
	}
	if body := ask(t, "op=add&calendar=de&start=2026-11-20&days=1&convention=nonsense"); body["convention"] != nil || !reflect.DeepEqual(body["ignored_fields"], []any{"convention"}) || body["days"] != 1. {
		t.Errorf("add of 1: %v", body)
	}
	if body := ask(t, "op=add&calendar=de&start=2026-11-20&days=0"); body["convention"] != "following" {
		t.Errorf("add of 0: %v", body)
	}
	// An answer repeats the inputs that the operation uses, and no others.
	for query, want := range map[string][]any{
		"op=holidays&calendar=de&year=2026":                       {nil, nil, nil, 2026.},
		"op=holidays&calendar=de&start=2026-01-01&end=2026-01-02": {nil, "2026-01-01", "2026-01-02", nil},
		"op=is&calendar=de&date=2026-01-01":                       {"2026-01-01", nil, nil, nil},
	} {
		if body := ask(t, query); !reflect.DeepEqual([]any{body["date"], body["start"], body["end"], body["year"]}, want) {
			t.Errorf("%s: %v", query, body)
		}
	}
	many := ask(t, "op=count&calendar=jp-bank&start=2000-01-01&end=2050-12-31")
	if n := len(many["holidays_skipped"].([]any)); n != 50 || many["holidays_skipped_total"] != 824. {
		t.Errorf("%d of %v holidays", n, many["holidays_skipped_total"])
	}
}

func TestHolidays(t *testing.T) {
	for query, want := range map[string][]string{
		"calendar=de&start=2008-05-01&end=2008-05-01":       {"2008-05-01 de Labour Day and Ascension Day"},
		"calendar=de&start=2026-11-21&end=2026-11-22":       nil,
		"calendar=de,fr,it&start=2026-12-25&end=2026-12-25": {"2026-12-25 de Christmas Day", "2026-12-25 fr Christmas Day", "2026-12-25 it Christmas Day"},
		"calendar=nz&start=2000-01-01&end=2000-01-05":       {"2000-01-03 nz New Year's Day (substitute day)", "2000-01-04 nz Day after New Year's Day (substitute day)"},
		"calendar=eu-target&year=2050":                      {"2050-04-08 eu-target Good Friday", "2050-04-11 eu-target Easter Monday", "2050-12-26 eu-target Christmas holiday"},
	} {
		body := ask(t, "op=holidays&"+query)
		if got := holidays(body["result"]); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", query, got, want)
		}
	}
	for query, want := range map[string][]string{
		"op=is&calendar=de&date=2025-10-03":                          {"2025-10-03 de Day of German Unity"},
		"op=is&calendar=de&date=2026-11-21":                          nil,
		"op=next&calendar=de&date=2025-10-02":                        {"2025-10-03 de Day of German Unity"},
		"op=previous&calendar=de&date=2025-10-04":                    {"2025-10-03 de Day of German Unity"},
		"op=roll&calendar=de&date=2025-10-03":                        {"2025-10-03 de Day of German Unity"},
		"op=roll&calendar=de&date=2025-10-03&convention=preceding":   {"2025-10-03 de Day of German Unity"},
		"op=roll&calendar=de&date=2025-10-03&convention=unadjusted":  nil,
		"op=add&calendar=de&start=2025-10-06&days=-2":                {"2025-10-03 de Day of German Unity"},
		"op=add&calendar=de&start=2025-10-03&days=0":                 {"2025-10-03 de Day of German Unity"},
		"op=roll&calendar=gb-eng&date=2026-04-04&convention=nearest": {"2026-04-03 gb-eng Good Friday"},
		"op=count&calendar=de&start=2025-10-01&end=2025-10-03":       nil,
		"op=holidays&calendar=de&start=2025-10-03&end=2025-10-03":    nil,
	} {
		if got := holidays(ask(t, query)["holidays_skipped"]); !slices.Equal(got, want) {
			t.Errorf("%s: skipped %q, want %q", query, got, want)
		}
	}
}

func TestBodies(t *testing.T) {
	h := edgetest.NewFake(t)
	byQuery := h.Do("GET", path+"?op=add&calendar=us-nyse,gb-eng&start=2026-12-23&days=2", "")
	for _, body := range []string{
		bizday.Example,
		`{"op":"add","calendar":" us-nyse , gb-eng","start":"2026-12-23","days":2.0}`,
		`{"op":"add","calendar":["us-nyse","gb-eng","us-nyse"],"start":"2026-12-23","days":2,"date":null}`,
	} {
		if r := h.Do("POST", path, body); string(r.Body) != string(byQuery.Body) {
			t.Errorf("%s: %s\nwant %s", body, r.Body, byQuery.Body)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ sent, want string }{
		{`{}`, "calendar required, op required"},
		{`?date=2026-02-30`, "calendar required, date not_a_date, op required"},
		{`?op=plus&calendar=xx&date=1&start=2&days=x&year=1&convention=y`, "calendar unknown_calendar, convention unknown_value, date not_a_date, days not_an_integer, op unknown_value, start not_a_date, year out_of_range"},
		{`?op=is&calendar=de&date=2026-01-01T00:00:00Z`, "date not_a_date"},
		{`?op=is&calendar=de&date=2051-01-01`, "date out_of_range"},
		{`?op=is&calendar=DE&date=2026-01-01`, "calendar unknown_calendar"},
		{`{"op":"is","calendar":["de",null,"x",7],"date":20260101}`, "calendar[1] wrong_type, calendar[2] unknown_calendar, calendar[3] wrong_type, date wrong_type"},
		{`{"op":"is","calendar":[],"date":"2026-01-01"}`, "calendar required"},
		{`{"op":"is","calendar":{},"date":"2026-01-01"}`, "calendar wrong_type"},
		{`?op=add&calendar=de`, "days required, start required"},
		{`?op=add&calendar=de&start=2026-01-01&days=`, "days required"},
		{`?op=add&calendar=de&start=2026-01-01&days=1.5`, "days not_an_integer"},
		{`?op=add&calendar=de&start=2026-01-01&days=99999999999`, "days not_an_integer"},
		{`{"op":"add","calendar":"de","start":"2026-01-01","days":""}`, "days wrong_type"},
		{`?op=add&calendar=de&start=2026-01-01&days=-2147483648`, "days out_of_range"},
		{`?op=add&calendar=de&start=2050-12-30&days=1`, "days out_of_range"},
		{`?op=add&calendar=de&start=2050-12-31&days=0`, "start out_of_range"},
		{`?op=add&calendar=de&start=2026-01-01&days=x&convention=x`, "convention unknown_value, days not_an_integer"},
		{`?op=previous&calendar=de&date=2000-01-03`, "date out_of_range"},
		{`?op=roll&calendar=de&date=2000-01-01&convention=nearest`, "date out_of_range"},
		{`?op=holidays&calendar=de&start=2026-01-02&end=2026-01-01`, "end out_of_range"},
		{`?op=holidays&calendar=de&year=1999&end=x`, "end not_a_date, year conflict, year out_of_range"},
	} {
		h := edgetest.NewFake(t)
		method, target, body := "POST", path, c.sent
		if c.sent[0] == '?' {
			method, target, body = "GET", path+c.sent, ""
		}
		r := h.Do(method, target, body)
		if r.Status != 400 {
			t.Errorf("%s: %d %s", c.sent, r.Status, r.Body)
			continue
		}
		if got := strings.Join(edgetest.Faults(t, r), ", "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.sent, got, c.want)
		}
		if len(h.Limits) != 0 {
			t.Errorf("%s is counted", c.sent)
		}
	}
}

// A fault says which operation needs what, and what was sent.
func TestFaultsNameTheOperation(t *testing.T) {
	for query, want := range map[string]string{
		"op=is&calendar=de":                                       "op=is needs date: date is missing or blank",
		"op=add&calendar=de&days=2&strat=2026-01-02":              `op=add needs start and days: start is missing or blank; "strat" is not a field: did you mean start?`,
		"op=count&calendar=de&start=2026-01-02":                   "op=count needs start and end: end is missing or blank",
		"op=holidays&calendar=de":                                 "op=holidays needs year, or start and end: none of them was sent",
		"op=holidays&calendar=de&end=2026-01-02":                  "op=holidays needs year, or start and end: start is missing or blank",
		"op=holidays&calendar=de&year=2026&end=2026-01-02":        "op=holidays: year must not be sent with start or end",
		"op=holidays&calendar=de&year=1999":                       "op=holidays: year must be from 2000 to 2050, but is 1999",
		"op=next&calendar=de&date=2026-02-30":                     "op=next: date must be an existing date, as YYYY-MM-DD, but is 2026-02-30",
		"op=next&calendar=de&date=2050-12-31":                     "op=next: date takes the result outside the supported range, from 2000-01-01 to 2050-12-31",
		"op=roll&calendar=de&date=2026-01-01&convention=sideways": "op=roll: convention must be one of following, modified-following, preceding, modified-preceding, nearest, unadjusted, but is sideways",
		"op=previous&date=2026-01-02":                             "calendar is missing or blank: op=previous needs one or several",
		"op=previous&date=2026-01-02&calendar=de,mars":            "op=previous: calendar must be one of us-federal, us-nyse, ca-federal, br-anbima, gb-eng, eu-target, de, fr, it, jp-bank, nz, but is mars",
		"calendar=de&date=1999-01-02&op=is":                       "op=is: date must be from 2000-01-01 to 2050-12-31, but is 1999-01-02",
	} {
		r := edgetest.NewFake(t).Do("GET", path+"?"+query, "")
		var problem struct {
			Detail string
			Errors []struct{ Detail string }
		}
		if err := json.Unmarshal(r.Body, &problem); err != nil || len(problem.Errors) != 1 || problem.Errors[0].Detail != want || problem.Detail != "1 fault found." {
			t.Errorf("%s: %s\nwant %s", query, r.Body, want)
		}
	}
}

// Several computations are answered as each alone, in their order, and none is if one is at fault.
func TestBatch(t *testing.T) {
	h := edgetest.NewFake(t)
	asked := []string{
		`{"op":"add","calendar":["us-nyse","gb-eng"],"start":"2026-12-23","days":2}`, `{"op":"is","calendar":"de","date":"2026-10-03"}`,
		`{"op":"count","calendar":"fr","start":"2026-01-01","end":"2027-01-01"}`, `{"op":"holidays","calendar":"nz,de","year":2026}`,
	}
	var batch struct {
		Results []map[string]any
		Ignored []string `json:"ignored_fields"`
	}
	send := func(items ...string) *turn.Response {
		return h.Do("POST", path, `{"requests":[`+strings.Join(items, ",")+`],"days":1}`)
	}
	r := send(append(asked, `{"op":"is","calendar":"de","date":"2026-10-03","days":1}`)...)
	if err := json.Unmarshal(r.Body, &batch); err != nil || r.Status != 200 || len(batch.Results) != 5 || !slices.Equal(batch.Ignored, []string{"days", "requests[4].days"}) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for i, body := range asked {
		alone := edgetest.Decode(t, h.Do("POST", path, body))
		for name, value := range batch.Results[i] {
			if !reflect.DeepEqual(value, alone[name]) {
				t.Errorf("%s: %s is %v, and %v alone", body, name, value, alone[name])
			}
		}
		if len(batch.Results[i]) < 6 || batch.Results[i]["caveat"] != nil || batch.Results[i]["notice"] != nil {
			t.Errorf("%s: %v", body, batch.Results[i])
		}
	}
	is := asked[1]
	long := `{"op":"holidays","calendar":"` + strings.Join(bizday.IDs(), ",") + `","start":"2000-01-01","end":"2050-12-31"}`
	for want, items := range map[string][]string{
		"requests[0].date not_a_date, requests[2].date required, requests[3] wrong_type, requests[4].days out_of_range": {
			`{"op":"is","calendar":"de","date":"2026-02-30"}`, is, `{"op":"is","calendar":"de"}`, "7", `{"op":"add","calendar":"de","start":"2050-12-30","days":1}`,
		},
		"requests wrong_count":     {},
		"":                         slices.Repeat([]string{is}, 50),
		"requests wrong_count, 51": slices.Repeat([]string{is}, 51),
		"requests[1] too_many":     {long, is},
	} {
		r := send(items...)
		if want == "" {
			if r.Status != 200 {
				t.Errorf("50 computations: %d %s", r.Status, r.Body)
			}
			continue
		}
		if got := strings.Join(edgetest.Faults(t, r), ", "); r.Status != 400 || got != strings.TrimSuffix(want, ", 51") {
			t.Errorf("%d %s\nwant %s", r.Status, got, want)
		}
	}
	if r := h.Do("POST", path, `{"requests":{}}`); r.Status != 400 || !slices.Equal(edgetest.Faults(t, r), []string{"requests wrong_type"}) {
		t.Errorf("an object: %d %s", r.Status, r.Body)
	}
	if r := send(long); r.Status != 200 {
		t.Errorf("the longest computation: %d", r.Status)
	}
}

// Every request is answered with 200 or 400 and with JSON, and with the same when it is repeated.
func FuzzCompute(f *testing.F) {
	for _, seed := range []string{
		`{"op":"is","calendar":"de","date":"2026-10-03"}`, `{"op":"add","calendar":["us-nyse","gb-eng"],"start":"2026-12-23","days":-2}`,
		`{"op":"add","calendar":"nz","start":"2000-01-01","days":13307,"convention":"nearest"}`, `{"op":"count","calendar":"fr , it","start":"2050-12-31","end":"2000-01-01"}`,
		`{"op":"next","calendar":"jp-bank","date":"2050-12-29"}`, `{"op":"previous","calendar":"jp-bank","date":"2000-01-04"}`,
		`{"op":"roll","calendar":"eu-target","date":"2000-01-01","convention":"modified-preceding"}`, `{"op":"holidays","calendar":"us-federal","year":2050}`,
		`{"op":"holidays","calendar":"ca-federal","start":"2000-01-01","end":"2050-12-31","year":null}`, `{"op":"","calendar":[[]],"days":-2147483648}`,
	} {
		f.Add(seed)
	}
	h := edgetest.NewFake(f)
	f.Fuzz(func(t *testing.T, body string) {
		r, again := h.Do("POST", path, body), h.Do("POST", path, body)
		if r.Status != 200 && r.Status != 400 && r.Status != 413 || !json.Valid(r.Body) || string(r.Body) != string(again.Body) {
			t.Fatalf("%q: %d %s", body, r.Status, r.Body)
		}
		if r.Status == 200 {
			answer := edgetest.Decode(t, r)
			for member := range maps.Keys(answer) {
				if !slices.Contains(members, member) {
					t.Fatalf("%q: answers %s, which Answer lacks", body, member)
				}
			}
		}
	})
}

var members = func() (names []string) {
	names = []string{"notice", "served_from", "canonical_host", "host_note"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[bizday.Answer]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// A request lists at most so many holidays, of all its computations together, and tells their
// number.
func TestListedHolidays(t *testing.T) {
	all := strings.Join(bizday.IDs(), ",")
	body := ask(t, "op=holidays&start=2000-01-01&end=2050-12-31&calendar="+all)
	if listed, total := len(body["result"].([]any)), body["holidays_total"]; listed != bizday.MaxListed || total != 5306. {
		t.Errorf("%d of %v holidays", listed, total)
	}
	const years = `{"op":"holidays","calendar":"de","start":"2000-01-01","end":"2049-12-31"},`
	const count = `{"op":"count","calendar":"de","start":"2000-01-01","end":"2019-12-31"}`
	r := edgetest.NewFake(t).Do("POST", path, `{"requests":[`+strings.Repeat(years, 3)+count+`]}`)
	var left []int
	for _, result := range edgetest.Decode(t, r)["results"].([]any) {
		m := result.(map[string]any)
		listed, _ := m["result"].([]any)
		left = append(left, len(listed)+len(m["holidays_skipped"].([]any)))
		if m["op"] == "holidays" && m["holidays_total"] != 380. || m["op"] == "count" && (m["holidays_total"] != nil || m["holidays_skipped_total"] != 156.) {
			t.Errorf("%v of %v and %v", m["op"], m["holidays_total"], m["holidays_skipped_total"])
		}
	}
	if !slices.Equal(left, []int{380, 380, 240, 0}) {
		t.Errorf("listed %v", left)
	}
}
