package org_test

import (
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/record"
)

// A seat in a query is held to the same rules as one in a body, where the faults name the places of
// the seats. What is refused is not recorded.
func TestFaults(t *testing.T) {
	long := strings.Repeat("n", record.MaxName)
	form := "send " + org.SeatForm + ", like ada:5"
	query := func(seat string) string {
		return "/api/org?org_name=Tern&rainmaker=" + seat + "&operator=b:25&verifier=c:20&scout=d:15&treasurer=e:10"
	}
	entry := func(position, allocation string) string {
		return `{"position":"` + position + `","agent_name":"a","allocation":` + allocation + `}`
	}
	body := func(last string) string {
		return `{"org_name":"Tern","roster":[` + entry("operator", "25") + "," + entry("verifier", "20") + "," + entry("scout", "15") + "," +
			entry("treasurer", "10") + "," + last + `]}`
	}
	const over = "roster over_cap the allocations add up to 101 credit units, but the cap is 100"
	for sent, want := range map[string]string{
		query(long + ":30"):               "",
		query("a:4"):                      "rainmaker below_minimum must be at least 5, but is 4",
		query("a:31"):                     over,
		query("a:05"):                     "rainmaker bad_form is not a seat: " + form,
		query("a"):                        "rainmaker bad_form is not a seat: " + form,
		query("a:5x"):                     "rainmaker bad_form is not a seat: " + form,
		query("a:99999999999"):            "rainmaker not_an_integer the allocation must be a 32-bit integer, but is 99999999999",
		query(":30"):                      "rainmaker required the agent_name before the colon is missing or blank: " + form,
		query(long + "n:30"):              "rainmaker too_long must have at most 80 characters, but has 81",
		query("a%07:30"):                  "rainmaker control_character contains the control character U+0007 at byte 1",
		query("a:2147483647"):             "roster over_cap the allocations add up to 2147483717 credit units, but the cap is 100",
		body(entry("rainmaker", "30")):    "",
		body(entry("rainmaker", "31")):    over,
		body(entry("operator", "4")):      "roster[4].position duplicate_position operator is used twice: each position must have exactly one seat, roster[4].allocation below_minimum must be at least 5, but is 4",
		body(entry("king", "5")):          "roster[4].position unknown_position must be one of " + strings.Join(org.Positions, ", ") + ", but is king",
		body(`7,[]`):                      "roster wrong_count must have exactly 5 entries, but has 6, roster[4] wrong_type must be an object, not a number, roster[5] wrong_type must be an object, not an array",
		`{"org_name":"Tern"}`:             "roster required roster is missing",
		`{"org_name":"Tern","roster":{}}`: "roster wrong_type must be an array, not an object",
	} {
		h := edgetest.NewFake(t)
		method, target := "GET", sent
		if sent[0] == '{' {
			method, target = "POST", "/api/org"
		}
		r := h.Do(method, target, strings.TrimPrefix(sent, target))
		var got []string
		if r.Status != 200 {
			for _, f := range edgetest.Decode(t, r)["errors"].([]any) {
				f := f.(map[string]any)
				got = append(got, f["field"].(string)+" "+f["code"].(string)+" "+f["detail"].(string))
			}
		}
		if strings.Join(got, ", ") != want || (len(h.Statements) > 0) != (want == "") {
			t.Errorf("%s: %d %q, %d statements, want %s", sent, r.Status, got, len(h.Statements), want)
		}
	}
}
