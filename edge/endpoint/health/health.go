// Package health responds to the operator's monitoring, on every host name: whether the service is
// live, and whether it is ready for callers. The table of routes does not have these paths.
package health

import (
	"slices"
	"strconv"

	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

const (
	Live  = "/healthz" // 200
	Ready = "/readyz"  // 200 if the service can do its work, else 503
)

// KeepSeconds is the time for which a host repeats an answer, and the least time between two
// writes.
const KeepSeconds = 5

const (
	Store     = "store"     // it takes no write, or is not the verified one
	Key       = "key"       // receipts are not signed with the published key
	Documents = "documents" // they are missing, or have another content version
)

// Manifest is the document with the content version, in its member Version.
const (
	Manifest = "/manifest.json"
	Version  = "content_version"
)

const (
	maxManifest = 256 << 10
	timeout     = 5000 // milliseconds
)

// try writes the time, unless a host has done so within KeepSeconds. A time in the future does not
// count: a clock was set back.
var try = `INSERT INTO health (id, written_at) VALUES (1, ?)
ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at
WHERE written_at NOT BETWEEN excluded.written_at - ` + strconv.Itoa(KeepSeconds-1) + ` AND excluded.written_at`

func IsPath(path string) bool { return path == Live || path == Ready }

// Answer takes signing.KeyState.OK as keyOK.
func Answer(t *turn.Turn, path string, keyOK bool) *turn.Response {
	method := t.Request.Method
	if method != "GET" && method != "HEAD" {
		r := respond.Empty(405, "no-store")
		r.Set("allow", "GET, HEAD")
		return r
	}
	if path == Live {
		return answer(t, nil)
	}
	results, ok := t.DoAll(
		turn.Exec{Statements: []turn.Statement{turn.SQL(try, t.Now), turn.SQL("SELECT id FROM store")}},
		turn.Fetch{Self: true, Method: "GET", URL: t.Origin() + Manifest, MaxBytes: maxManifest, TimeoutMillis: timeout},
	)
	if !ok {
		return nil
	}
	var failing []string
	if results[0].Failure != turn.None || !verified(t, results[0].Rows) {
		failing = append(failing, Store)
	}
	if !keyOK {
		failing = append(failing, Key)
	}
	if !describes(t, &results[1]) {
		failing = append(failing, Documents)
	}
	return answer(t, failing)
}

func verified(t *turn.Turn, rows [][][]any) bool {
	want := t.Snapshot.Store // a preview has another
	if want == "" || slices.Contains(t.Snapshot.PreviewHosts, t.Request.Host) {
		return true
	}
	return len(rows) == 2 && len(rows[1]) == 1 && turn.Text(rows[1][0][0]) == want
}

func describes(t *turn.Turn, manifest *turn.Result) bool {
	if manifest.Failure != turn.None || manifest.Status != 200 {
		return false
	}
	document, err := jsondoc.Parse(manifest.Data)
	return err == nil && document.Get(Version).Text == t.Snapshot.ShortVersion()
}

func answer(t *turn.Turn, failing []string) *turn.Response {
	status, word := 200, "ok"
	if len(failing) > 0 {
		status, word = 503, "failing"
	}
	var w jsondoc.Writer
	w.Open('{')
	w.Str("status", word)
	w.Str("content", t.Snapshot.ShortVersion())
	w.Str("as_of", t.Snapshot.AsOf)
	if len(failing) > 0 {
		w.Strs("failing", failing)
	}
	w.Close('}')
	r := respond.JSON(status, respond.MediaJSON, "no-store", w.Buf)
	if t.Request.Method == "HEAD" {
		r.Set("content-length", strconv.Itoa(len(r.Body)))
		r.Body = nil
	}
	return r
}
