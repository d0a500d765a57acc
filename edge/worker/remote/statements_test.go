package remote

import (
	"fmt"
	"strings"
	"testing"
)

// decodeRows reads an answer to n statements as Read does.
func decodeRows(body string, n int) (rows [][][]any, err error) {
	results, err := decode([]byte(body), n)
	if err != nil {
		return nil, err
	}
	for i := range results {
		list, err := results[i].rows()
		if err != nil {
			return nil, err
		}
		rows = append(rows, list)
	}
	return rows, nil
}

// answers are answers to one statement, and what is read of them.
var answers = map[string]string{
	`{"success":true,"result":[{"success":true,"results":{"columns":["a","b"],"rows":[["x",1],[null,-9223372036854775808]]}}]}`: "[[[x 1] [<nil> -9223372036854775808]]]",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[9223372036854775807]]}}]}`:                   "[[[9223372036854775807]]]",
	`{"success":true,"errors":null,"result":[{"success":true,"results":{"columns":[],"rows":[]},"meta":{}}]}`:                   "[[]]",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[["\u0000\ud83d\ude00"]]}}]}`:                  "[[[\x00\U0001f600]]]",

	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[9223372036854775808]]}}]}`:    "no integer",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[1.0]]}}]}`:                    "no integer",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[1e3]]}}]}`:                    "no integer",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[true]]}}]}`:                   "neither",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[[1,2]]]}}]}`:                  "neither",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[{}]]}}]}`:                     "neither",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a","b"],"rows":[[1,2],[1]]}}]}`:            "row 2 has 1 values",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[null]}}]}`:                     "row 1 has 0 values",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"]}}]}`:                                   "lacks its rows",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":null}}]}`:                       "lacks its rows",
	`{"success":true,"result":[{"success":true,"results":{"rows":[]}}]}`:                                         "lacks its rows",
	`{"success":true,"result":[{"success":true,"results":[]}]}`:                                                  "lacks its rows",
	`{"success":true,"result":[{"success":true,"results":null}]}`:                                                "lacks its rows",
	`{"success":true,"result":[{"success":true}]}`:                                                               "lacks its rows",
	`{"success":true,"result":[{"results":{"columns":["a"],"rows":[]}}]}`:                                        "statement 1 failed",
	`{"success":true,"result":[{"success":false,"error":"x"}]}`:                                                  "statement 1 failed",
	`{"success":true,"result":[null]}`:                                                                           "statement 1 failed",
	`{"success":true,"result":[]}`:                                                                               "of 0 statements",
	`{"success":true,"result":null}`:                                                                             "of 0 statements",
	`{"success":true}`:                                                                                           "cut off",
	`{"success":true,"result":{}}`:                                                                               "cut off",
	`{"success":false,"errors":[{"code":7500,"message":"m"}],"result":[]}`:                                       "7500",
	`{"result":[{"success":true,"results":{"columns":["a"],"rows":[]}}]}`:                                        "answered",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[]}}]}{}`:                       "cut off",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[]}}],"result":[]}`:             "cut off",
	`{"success":true,"result":[{"success":true,"results":{"columns":["a"],"rows":[[1]],"rows":[]}}]}`:            "cut off",
	"{\"success\":true,\"result\":[{\"success\":true,\"results\":{\"columns\":[\"a\"],\"rows\":[[\"\xff\"]]}}]}": "cut off",
	"": "cut off", "<html>": "cut off", "null": "answered",
}

func TestDecode(t *testing.T) {
	for body, want := range answers {
		rows, err := decodeRows(body, 1)
		if strings.HasPrefix(want, "[") {
			if got := fmt.Sprint(rows); got != want || err != nil {
				t.Errorf("%s: %s, %v", body, got, err)
			}
			continue
		}
		wantError(t, err, want)
		if rows != nil {
			t.Errorf("%s: rows %v", body, rows)
		}
	}
	for meta, want := range map[string]string{
		`{"changes":3}`: "3 <nil>", `{"changes":0}`: "0 <nil>",
		`{"changes":-1}`: "0 the answer lacks", `{"changes":null}`: "0 the answer lacks", `{"changes":1.5}`: "0 the answer lacks", `{}`: "0 the answer lacks",
		`null`: "0 the answer lacks", `[]`: "0 the answer lacks", ``: "0 the answer lacks",
	} {
		r := result{Meta: []byte(meta)}
		if n, err := r.changes(); !strings.HasPrefix(fmt.Sprint(n, err), want) {
			t.Errorf("%s: %d, %v", meta, n, err)
		}
	}
}

func checkRow(t *testing.T, row []any, columns int) {
	t.Helper()
	if len(row) != columns {
		t.Errorf("%d values for %d columns", len(row), columns)
	}
	for _, value := range row {
		switch value.(type) {
		case string, int64, nil:
		default:
			t.Errorf("a value is a %T", value)
		}
	}
}

// FuzzDecode: an answer is read as a whole or not at all, and a beginning of it never is.
func FuzzDecode(f *testing.F) {
	for body := range answers {
		f.Add(body, uint8(1), uint16(len(body)/2))
	}
	f.Fuzz(func(t *testing.T, body string, n uint8, cut uint16) {
		rows, err := decodeRows(body, int(n))
		if err != nil {
			if rows != nil {
				t.Errorf("a part of %s", body)
			}
			return
		}
		if len(rows) != int(n) {
			t.Errorf("%d results of %d", len(rows), n)
		}
		for _, list := range rows {
			for _, row := range list {
				checkRow(t, row, len(list[0]))
			}
		}
		whole := strings.TrimSpace(body)
		if part := whole[:min(int(cut), len(whole))]; len(part) < len(whole) {
			if rows, err := decodeRows(part, int(n)); err == nil {
				t.Errorf("%s was read as %v", part, rows)
			}
		}
	})
}
