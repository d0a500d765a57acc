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
		"a:4":           "rainmaker below_minimum must be at least 5, and is 4",
		"a:31":          "roster over_cap the allocations add up to 101 credit units, and the cap is 100",
		"a:05":          "rainmaker bad_form does not have the form of a seat: " + form,
		"a":             "rainmaker bad_form does not have the form of a seat: " + form,
		"a:5x":          "rainmaker bad_form does not have the form of a seat: " + form,
		"a:99999999999": "rainmaker not_an_integer the allocation must be an integer of 32 bits, and is 99999999999",
		":30":           "rainmaker required the agent_name before the colon is missing or blank: " + form,
		"":              "rainmaker required rainmaker is missing or blank: " + form,
		long + "n:30":   "rainmaker too_long must have at most 80 characters, and has 81",
		"a%07:30":       "rainmaker control_character holds the control character U+0007 at byte 1",
		"a:2147483647":  "roster over_cap the allocations add up to 2147483717 credit units, and the cap is 100",
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
		with(1, entry("rainmaker", "a", "31")): "roster over_cap the allocations add up to 101 credit units, and the cap is 100",
		with(1, entry("rainmaker", "a", "4")):  "roster[1].allocation below_minimum must be at least 5, and is 4",
		with(4, entry("operator", "d", "15")):  "roster[4].position duplicate_position operator is used twice: each position must have exactly one seat",
		with(0, entry("king", "e", "10")):      "roster[0].position unknown_position must be one of " + positions + ", and is king",
		with(2, `7`):                           "roster[2] wrong_type must be an object, not a number",
		body(five[:4]...):                      "roster wrong_count must have exactly 5 entries, and has 4",
		`{"org_name":"Tern"}`:                  "roster required roster is missing",
		`{"org_name":"Tern","roster":{}}`:      "roster wrong_type must be an array, not an object",
	} {
		h := edgetest.NewFake(t)
		check(t, h, sent, h.Do("POST", "/api/org", sent), want)
	}
}

// The address of a charter is stored apart from it, and the message to the operator with it.
func TestFile(t *testing.T) {
	for address, tables := range map[string]int{"": 1, "&owner_email=a@example.org": 3} {
		h := edgetest.NewFake(t)
		r := h.Do("GET", query("a:b:30", "bo:25", "cy:20", "dee:15", "ed:5")+address, "")
		answer := edgetest.Decode(t, r)
		if r.Status != 200 || answer["email_on_file"] != (address != "") || len(h.Statements) != tables || h.Statements[0].Args[5] != answer["payload_sha256"] {
			t.Errorf("%s: %d %s, %v", address, r.Status, r.Body, h.Statements)
		}
	}
}

// A GET with any parameter files a charter, so that a mistyped one is refused.
func TestChosen(t *testing.T) {
	for target, want := range map[string]int{
		"/api/org": 200, "/api/org?": 200, "/api/org?owner_email=a@example.org": 400, "/api/org?org_name=Tern": 400, "/api/org?commissioner=ada": 400, "/api/org?scout=d:15": 400, "/api/org?treasurer=": 400,
		"/api/org?dry_run=1": 400, "/api/org?x": 400,
	} {
		h := edgetest.NewFake(t)
		if r := h.Do("GET", target, ""); r.Status != want || len(h.Statements) != 0 {
			t.Errorf("%s: %d %s", target, r.Status, r.Body)
		}
	}
	mistyped := string(edgetest.NewFake(t).Do("GET", "/api/org?orgname=Tern&rain_maker=a:20", "").Body)
	for _, want := range []string{`\"orgname\" is not a field: did you mean org_name?`, `\"rain_maker\" is not a field: did you mean rainmaker?`, `"ignored_fields":["orgname","rain_maker"]`} {
		if !strings.Contains(mistyped, want) {
			t.Errorf("%s lacks %s", mistyped, want)
		}
	}
}
