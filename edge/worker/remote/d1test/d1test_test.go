package d1test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
	"anteroom/edge/worker/cloudflare/apitest"
)

func TestServer(t *testing.T) {
	s := Start(t)
	database := "accounts/" + s.Account + "/d1/database/" + s.Database
	many := `"?` + strings.Repeat(",?", 100) + `"`
	params := `[1` + strings.Repeat(",1", 100) + `]`
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", database + "/query", `{"sql":"SELECT 1 AS b, 'x' AS a"}`, 200, `"result":[{"meta":`},
		{"POST", database + "/query", `{"sql":"SELECT 1 AS b, 'x' AS a"}`, 200, `"results":[{"a":"x","b":1}],"success":true}]`},
		{"POST", database + "/raw", `{"sql":"SELECT 1 AS b, ? AS a, ? AS c","params":["x",null]}`, 200, `"results":{"columns":["b","a","c"],"rows":[[1,"x",null]]},"success":true}]`},
		{"POST", database + "/raw", `{"sql":"SELECT typeof(?), ?, 9007199254740993, 0.5, x'01ff'","params":[5,5]}`, 200, `"rows":[["real",5,9007199254740992,0.5,[1,255]]]`},
		{"POST", database + "/raw", `{"batch":[{"sql":"SELECT 1"},{"sql":"SELECT 2"}]}`, 200, `"rows":[[2]]`},
		{"POST", database + "/raw", `{"sql":"INSERT INTO contacts VALUES (?, 'b', 'c'), ('d', 'e', 'f')","params":["a"]}`, 200, `"changes":2`},
		{"POST", database + "/raw", `{"sql":"INSERT INTO signal_runs (urls_sha256, started_at) VALUES ('', ?)","params":[1795132800]}`, 200, `"changes":1`}, // STRICT
		{"POST", database + "/query", `{"sql":"SELECT started_at, typeof(started_at) FROM signal_runs"}`, 200, `[{"started_at":1795132800,"typeof(started_at)":"integer"}]`},
		{"POST", database + "/raw", `{"batch":[{"sql":"DELETE FROM contacts"},{"sql":"SELECT nowhere"}]}`, 400, `no such column: nowhere: SQLITE_ERROR`},
		{"POST", database + "/raw", `{"sql":"SELECT count(*) FROM contacts"}`, 200, `"rows":[[2]]`}, // rolled back
		{"POST", database + "/raw", `{"sql":"INSERT INTO contacts VALUES ('a', '', '')"}`, 400, `"code":7500,"message":"UNIQUE constraint failed: contacts.record_id: SQLITE_`},
		{"POST", database + "/raw", `{"sql":"SELECT ?","params":[true]}`, 400, `7500`},
		{"POST", database + "/raw", `{"sql":"SELECT ?"}`, 400, `7500`},
		{"POST", database + "/raw", `{"sql":` + many + `,"params":` + params + `}`, 400, "too many SQL variables"},
		{"POST", database + "/raw", `{"sql":"SELECT 1` + strings.Repeat(" ", 100_000) + `"}`, 400, "SQLITE_TOOBIG"},
		{"POST", database + "/raw", `{"sql":"SELECT hex(zeroblob(1000001))"}`, 400, "SQLITE_TOOBIG"},
		{"POST", database + "/raw", `{"sql":"SELECT length(?)","params":["` + strings.Repeat("x", 2_000_001) + `"]}`, 400, "SQLITE_TOOBIG"},
		{"POST", database + "/raw", `{}`, 400, "malformed"},
		{"POST", database + "/raw", `{"sql":"SELECT 1","batch":[{"sql":"SELECT 1"}]}`, 400, "malformed"},
		{"POST", database + "/raw", `[`, 400, "malformed"},
		{"POST", database + "/export", `{}`, 404, "7003"},
		{"GET", database + "/raw", ``, 405, "10405"},
		{"POST", "accounts/" + s.Account + "/d1/database/other/raw", `{"sql":"SELECT 1"}`, 404, "7404"},
		{"POST", "accounts/other/d1/database/" + s.Database + "/raw", `{"sql":"SELECT 1"}`, 403, "7403"},
		{"GET", "accounts", ``, 200, s.Account},
		{"POST", "accounts/" + s.Account + "/analytics_engine/sql", "SELECT 1 FROM " + apitest.Dataset + " FORMAT JSON", 200, `"rows":0`},
		{"POST", "accounts/" + s.Account + "/analytics_engine/sql", "SELECT 1", 422, "cannot parse"},
	} {
		status, body := s.ask(t, test.method, test.path, test.body, s.Token)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %.80s: %d %s, want %d %s", test.method, test.path+" "+test.body, status, body, test.status, test.want)
		}
		if !json.Valid([]byte(body)) && status != 422 {
			t.Errorf("no JSON: %s", body)
		}
	}
	if status, body := s.ask(t, "POST", database+"/raw", `{"sql":"SELECT 1"}`, "another"); status != 403 || !strings.Contains(body, "10000") {
		t.Errorf("another token: %d %s", status, body)
	}

	// The file can be read and written beside the server, as sqlite.Store does.
	store, err := sqlite.Open(s.Path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Write(t.Context(), turn.Statement{SQL: "DELETE FROM contacts"}); err != nil {
		t.Error(err)
	}
	if _, body := s.ask(t, "POST", database+"/raw", `{"sql":"SELECT count(*) FROM contacts"}`, s.Token); !strings.Contains(body, `"rows":[[0]]`) {
		t.Errorf("after a store has deleted: %s", body)
	}
}

// ask makes a call, and gives its status and the body of its answer.
func (s *Server) ask(t *testing.T, method, path, body, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
