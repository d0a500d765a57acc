package bizday_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/bizday"
)

const path = "/api/business-days"

// ask gets the answer to a query, whose status must be 200.
func ask(t *testing.T, query string) string {
	t.Helper()
	r := edgetest.NewFake(t).Do("GET", path+"?"+query, "")
	if r.Status != 200 {
		t.Fatalf("%s: %d %s", query, r.Status, r.Body)
	}
	return string(r.Body)
}

// The answers have these parts, and skip the holidays that the result passed over.
func TestAnswers(t *testing.T) {
	const unity = `{"date":"2025-10-03","name":"Day of German Unity","calendar":"de"}`
	const one, none = `"holidays_skipped":[` + unity + `],"holidays_skipped_total":1,`, `"holidays_skipped":[],"holidays_skipped_total":0,`
	for query, want := range map[string]string{
		"op=is&calendar=de&date=2025-10-03":                         one,
		"op=is&calendar=de&date=2050-12-31":                         `"result":false,` + none,
		"op=next&calendar=de&date=2025-10-02":                       one,
		"op=previous&calendar=de&date=2025-10-04":                   one,
		"op=roll&calendar=de&date=2025-10-03":                       one,
		"op=roll&calendar=de&date=2025-10-03&convention=preceding":  one,
		"op=roll&calendar=de&date=2025-10-03&convention=unadjusted": none,
		"op=add&calendar=de&start=2025-10-06&days=-2":               one,
		"op=add&calendar=de&start=2025-10-03&days=0":                `"convention":"following","result":"2025-10-06",` + one,
		"op=add&calendar=de&start=2026-11-20&days=1&convention=x":   `"ignored_fields":["convention"]`,
		"op=add&calendar=de&start=2000-01-01&days=12919":            `"result":"2050-12-30"`,
		"op=count&calendar=de&start=2025-10-01&end=2025-10-03":      `"result":2,"inclusive":2,` + none,
		"op=count&calendar=de&start=2025-10-06&end=2025-10-02":      `"result":-1,"inclusive":-2,` + one,
		"op=holidays&calendar=de&start=2025-10-03&end=2025-10-03":   `"start":"2025-10-03","end":"2025-10-03","convention":null,"result":[` + unity + `],"holidays_total":1,` + none,
		"op=is&calendar=de,%20fr%20,de&date=2026-11-20":             `"calendar":["de","fr"],`,
	} {
		if got := ask(t, query); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", query, got, want)
		}
	}
}

// A fault names the operation with its needs, and the value that was sent.
func TestFaults(t *testing.T) {
	for sent, want := range map[string]string{
		`{}`: "calendar required calendar is missing or blank: send one or several, op required op is missing or blank",
		`?op=plus&calendar=xx&date=1&start=2&days=x&year=1&convention=y`: "calendar unknown_calendar, convention unknown_value, date not_a_date, days not_an_integer, op unknown_value, start not_a_date, year out_of_range",
		`{"op":"is","calendar":["de",null,"x",7],"date":20260101}`:       "calendar[1] wrong_type, calendar[2] unknown_calendar, calendar[3] wrong_type, date wrong_type",
		`{"op":"is","calendar":[],"date":"2026-01-01"}`:                  "calendar required calendar is missing or blank: op=is needs one or several",
		`{"op":"is","calendar":{},"date":"2026-01-01"}`:                  "calendar wrong_type op=is: calendar must be a string or an array of strings, not an object",
		`?op=next&calendar=mars&date=2026-02-30`:                         "calendar unknown_calendar op=next: calendar must be one of us-federal, us-nyse, ca-federal, br-anbima, gb-eng, eu-target, de, fr, it, jp-bank, nz, but is mars, date not_a_date op=next: date must be an existing date, as YYYY-MM-DD, but is 2026-02-30",
		`?op=roll&calendar=de&date=2026-01-01&convention=x`:              "convention unknown_value op=roll: convention must be one of following, modified-following, preceding, modified-preceding, nearest, unadjusted, but is x",
		`?op=add&calendar=de`:                                            "days required op=add needs start and days: days is missing or blank, start required op=add needs start and days: start is missing or blank",
		`?op=add&calendar=de&start=2026-01-01&days=x&convention=x`:       "convention unknown_value, days not_an_integer",
		`?op=add&calendar=de&start=2026-01-01&days=-2147483648`:          "days out_of_range op=add: days takes the result outside the supported range, from 2000-01-01 to 2050-12-31",
		`?op=add&calendar=de&start=2050-12-31&days=0`:                    "start out_of_range",
		`?op=previous&calendar=de&date=2000-01-03`:                       "date out_of_range",
		`?op=roll&calendar=de&date=2000-01-01&convention=nearest`:        "date out_of_range",
		`?op=is&calendar=de&date=2051-01-01`:                             "date out_of_range op=is: date must be from 2000-01-01 to 2050-12-31, but is 2051-01-01",
		`?op=is&calendar=de&date=1999-12-31`:                             "date out_of_range",
		`?op=holidays&calendar=de`:                                       "year required op=holidays needs year, or start and end: none of them was sent",
		`?op=holidays&calendar=de&end=2026-01-02`:                        "start required op=holidays needs year, or start and end: start is missing or blank",
		`?op=holidays&calendar=de&year=2026&end=2026-01-02`:              "year conflict op=holidays: year must not be sent with start or end",
		`?op=holidays&calendar=de&year=1999&end=x`:                       "end not_a_date, year conflict, year out_of_range op=holidays: year must be from 2000 to 2050, but is 1999",
		`?op=holidays&calendar=de&year=2051`:                             "year out_of_range",
		`?op=holidays&calendar=de&start=2026-01-02&end=2026-01-01`:       "end out_of_range op=holidays: end must not be before start, and is 2026-01-01",
	} {
		method, target, body := "POST", path, sent
		if sent[0] == '?' {
			method, target, body = "GET", path+sent, ""
		}
		r := edgetest.NewFake(t).Do(method, target, body)
		var problem struct {
			Errors []struct{ Field, Code, Detail string }
		}
		if err := json.Unmarshal(r.Body, &problem); err != nil || r.Status != 400 {
			t.Errorf("%s: %d %s", sent, r.Status, r.Body)
		}
		var got []string
		for _, f := range problem.Errors {
			got = append(got, f.Field+" "+f.Code)
			if whole := f.Field + " " + f.Code + " " + f.Detail; strings.Contains(want, whole) {
				got[len(got)-1] = whole
			}
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s\nwant %s", sent, r.Body, want)
		}
	}
}

// A request has 1 to 50 computations, which read no more years than a single one can.
func TestBatchLimits(t *testing.T) {
	const is = `{"op":"is","calendar":"de","date":"2026-10-03"}`
	long := `{"op":"holidays","calendar":"` + strings.Join(bizday.IDs(), ",") + `","start":"2000-01-01","end":"2050-12-31"}`
	for _, c := range []struct{ requests, want string }{
		{"{}", `"requests","code":"wrong_type"`},
		{"[]", "must have 1 to 50 computations, but has 0"},
		{"[" + strings.Repeat(is+",", 49) + is + "]", `"results":[`},
		{"[" + strings.Repeat(is+",", 50) + is + "]", "must have 1 to 50 computations, but has 51"},
		{"[" + long + "]", `"results":[`},
		{"[" + long + "," + is + "]", `"requests[1]","code":"too_many","detail":"brings the calendar years of this request to 562, more than the limit of 561`},
		{"[" + is + `,{"op":"add","calendar":"de","start":"2050-12-30","days":1},7,{"op":"is","calendar":"de"}]`, `"requests[3].date"`},
	} {
		if r := edgetest.NewFake(t).Do("POST", path, `{"requests":`+c.requests+`}`); !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%.99s: %d %s\nwant %s", c.requests, r.Status, r.Body, c.want)
		}
	}
}

// A request lists at most so many holidays, of all its computations together, and tells their
// number.
func TestListedHolidays(t *testing.T) {
	const years = `{"op":"holidays","calendar":"de","start":"2000-01-01","end":"2049-12-31"},`
	const count = `{"op":"count","calendar":"de","start":"2000-01-01","end":"2019-12-31"}`
	for body, want := range map[string][]int{
		"[" + count + "," + strings.Repeat(years, 3) + count + "]":                                                         {50, 380, 380, 190, 0},
		`[{"op":"holidays","calendar":"` + strings.Join(bizday.IDs(), ",") + `","start":"2000-01-01","end":"2050-12-31"}]`: {bizday.MaxListed},
	} {
		r := edgetest.NewFake(t).Do("POST", path, `{"requests":`+body+`}`)
		var listed []int
		for result := range strings.SplitSeq(string(r.Body), `{"op":`) {
			listed = append(listed, strings.Count(result, `"date"`))
		}
		if !slices.Equal(listed[1:], want) {
			t.Errorf("%s: %v, want %v", body, listed, want)
		}
		if strings.Count(string(r.Body), `"holidays_total":380,`) != 3*min(len(want)-1, 1) || strings.Contains(string(r.Body), `"holidays_skipped_total":156}`) != (len(want) > 1) {
			t.Errorf("%s: the totals of %s", body, r.Body)
		}
	}
}
