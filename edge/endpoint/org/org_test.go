package org_test

import (
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/record"
	"anteroom/edge/turn"
)

// query is the query of a charter with these seats, in the order of the positions.
func query(seats ...string) string {
	q := "/api/org?org_name=Tern"
	for i, seat := range seats {
		q += "&" + org.Positions[i] + "=" + seat
	}
	return q
}

// body is a charter with these entries.
func body(entries ...string) string {
	return `{"org_name":"Tern","roster":[` + strings.Join(entries, ",") + `]}`
}

func entry(position, name, allocation string) string {
	return `{"position":"` + position + `","agent_name":"` + name + `","allocation":` + allocation + `}`
}

// A seat in a query is held to the same rules as one in a body: its name is published and never
// erased, too.
func TestSeats(t *testing.T) {
	long := strings.Repeat("n", record.MaxName)
	form := "send " + org.SeatForm + ", like ada:5"
	four := []string{"b:25", "c:20", "d:15", "e:10"}
	for first, want := range map[string]string{
		"a:30":          "",
		"a:b:30":        "",
		long + ":30":    "",
		"a:4":           "rainmaker below_minimum must be at least 5, but is 4",
		"a:31":          "roster over_cap the allocations add up to 101 credit units, but the cap is 100",
		"a:05":          "rainmaker bad_form is not a seat: " + form,
		"a":             "rainmaker bad_form is not a seat: " + form,
		"a:5x":          "rainmaker bad_form is not a seat: " + form,
		"a:99999999999": "rainmaker not_an_integer the allocation must be a 32-bit integer, but is 99999999999",
		":30":           "rainmaker required the agent_name before the colon is missing or blank: " + form,
		"":              "rainmaker required rainmaker is missing or blank: " + form,
		long + "n:30":   "rainmaker too_long must have at most 80 characters, but has 81",
		"a%07:30":       "rainmaker control_character contains the control character U+0007 at byte 1",
		"a:2147483647":  "roster over_cap the allocations add up to 2147483717 credit units, but the cap is 100",
	} {
		h := edgetest.NewFake(t)
		target := query(append([]string{first}, four...)...)
		check(t, h, target, h.Do("GET", target, ""), want)
	}
}

// check compares the faults of an answer, each as its field, code and detail. Where want is "", the
// charter must have been recorded.
func check(t *testing.T, h *edgetest.Fake, sent string, r *turn.Response, want string) {
	t.Helper()
	var got []string
	if r.Status != 200 {
		for _, f := range edgetest.Decode(t, r)["errors"].([]any) {
			f := f.(map[string]any)
			got = append(got, strings.TrimSpace(f["field"].(string)+" "+f["code"].(string)+" "+f["detail"].(string)))
		}
	}
	if strings.Join(got, ", ") != want || (len(h.Statements) > 0) != (want == "") {
		t.Errorf("%s: %d %q, %d statements, want %s", sent, r.Status, got, len(h.Statements), want)
	}
}

// A roster in a body must have each position once. Its faults name their places.
func TestRoster(t *testing.T) {
	five := []string{entry("treasurer", "e", "10"), entry("rainmaker", "a", "30"), entry("operator", "b", "25"), entry("verifier", "c", "20"), entry("scout", "d", "15")}
	with := func(i int, replaced string) string {
		entries := append([]string(nil), five...)
		entries[i] = replaced
		return body(entries...)
	}
	positions := strings.Join(org.Positions, ", ")
	for sent, want := range map[string]string{
		body(five...):                          "",
		with(1, entry("rainmaker", "a", "5")):  "",
		with(1, entry("rainmaker", "a", "31")): "roster over_cap the allocations add up to 101 credit units, but the cap is 100",
		with(1, entry("rainmaker", "a", "4")):  "roster[1].allocation below_minimum must be at least 5, but is 4",
		with(4, entry("operator", "d", "15")):  "roster[4].position duplicate_position operator is used twice: each position must have exactly one seat",
		with(0, entry("king", "e", "10")):      "roster[0].position unknown_position must be one of " + positions + ", but is king",
		with(2, `7`):                           "roster[2] wrong_type must be an object, not a number",
		body(five[:4]...):                      "roster wrong_count must have exactly 5 entries, but has 4",
		`{"org_name":"Tern"}`:                  "roster required roster is missing",
		`{"org_name":"Tern","roster":{}}`:      "roster wrong_type must be an array, not an object",
	} {
		h := edgetest.NewFake(t)
		check(t, h, sent, h.Do("POST", "/api/org", sent), want)
	}
}
