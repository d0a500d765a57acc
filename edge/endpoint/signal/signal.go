// Package signal submits the sitemap to search engines, by the IndexNow protocol
// (indexnow.org/documentation). Anyone may fire it; the outcome then serves all callers for
// minutes.
package signal

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/turn"
)

const MaxEndpoints = turn.MaxEffects // all in one round

// Times, in seconds but for KeepDays.
const (
	FiredPause   = 10 * 60 // in which an accepted run is not repeated
	FailedPause  = 60      // in which a failed run is not repeated, unless an endpoint asks for more
	maxPause     = 24 * 3600
	ShareSeconds = 30 // in which callers share a fetch of the key file
	KeepDays     = 30 // for which a run is kept
	keyTimeout   = 5
	sendTimeout  = 10
	lease        = 60 // in which an unfinished run blocks others: longer than a run takes
)

const maxAnswer = 4096 // bytes read of an endpoint's answer

var (
	fire = input.Field{Name: "fire", Type: input.Name, Values: []string{"1"}, QueryOnly: true, Example: `"1"`}

	Fields = []input.Field{fire}
)

func Chosen(in *input.Input) bool { return in.Sent(&fire) }

type Report struct {
	Signal        string   `json:"signal" enum:"ready,blocked" doc:"ready if the key file of the serving host verifies, otherwise blocked."`
	Detail        string   `json:"detail" doc:"Status in words."`
	KeyFile       *string  `json:"key_file" format:"uri" doc:"The address of the checked key file; null if the service has no key."`
	URLs          []string `json:"urls" doc:"The addresses in the sitemap, which a firing submits."`
	Endpoints     []string `json:"endpoints" doc:"The search-index endpoints that a firing submits to."`
	Submitted     *int     `json:"submitted,omitempty" doc:"0 if a firing was requested and this host does not fire."`
	IgnoredFields []string `json:"ignored_fields,omitempty" total:"true" doc:"Sent names that are not fields."`
}

type Fired struct {
	Signal        string `json:"signal" enum:"fired" doc:"At least one endpoint accepted the addresses. Accepted is not indexed."`
	Detail        string `json:"detail" doc:"Status in words."`
	Outcome       `flat:"true"`
	IgnoredFields []string `json:"ignored_fields" total:"true" doc:"Sent names that are not fields."`
}

type Failure struct {
	Signal  string `json:"signal" enum:"failed" doc:"The key file did not verify, or no endpoint accepted the addresses."`
	Outcome `flat:"true"`
}

type Outcome struct {
	Submitted  int          `json:"submitted" doc:"Number of submitted addresses, 0 if no endpoint accepted them."`
	AcceptedBy []string     `json:"accepted_by" doc:"The endpoints that accepted them."`
	RejectedBy []string     `json:"rejected_by" doc:"The endpoints that did not accept them; empty if none was asked."`
	Results    []Submission `json:"results" doc:"The answer of each endpoint; empty if none was asked."`
	Replayed   bool         `json:"replayed" doc:"Whether this is the outcome of an earlier firing."`
	FiredAt    string       `json:"fired_at" format:"date-time" doc:"Time of the request that fired."`
}

type Submission struct {
	Endpoint string `json:"endpoint" format:"uri" doc:"Address."`
	Status   *int   `json:"status" doc:"HTTP status of its answer; null without one."`
	Accepted bool   `json:"accepted" doc:"Whether it accepted the addresses: any 2xx."`
	Detail   string `json:"detail" doc:"Meaning of the status in the protocol."`
}

func Read(t *turn.Turn, _ *input.Input) *turn.Response {
	fault, ok := checkKey(t)
	if !ok {
		return nil
	}
	return respond.OK(t, func(w *jsondoc.Writer) { writeReport(t, w, fault) })
}

// Fire submits the sitemap, or returns the outcome of an earlier run whose pause is not over.
func Fire(t *turn.Turn, in *input.Input) *turn.Response {
	in.Choice(&fire)
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	if fault := whyNotHere(t); fault != "" {
		return respond.OK(t, func(w *jsondoc.Writer) {
			writeReport(t, w, fault)
			w.Int("submitted", 0)
			respond.WriteCapped(w, "ignored_fields", in.Ignored())
		})
	}
	begun, ok := t.Exec(begin(t)...)
	switch {
	case !ok:
		return nil
	case begun.Failure != turn.None || len(begun.Rows) != 2:
		return respond.RetryLater(t, respond.StoreUnavailable,
			"The store is unavailable, so the time of the last firing is unknown: this firing submitted no addresses.",
			respond.StoreRetry)
	case len(begun.Rows[0]) == 0:
		return replay(t, in, begun.Rows[1])
	}
	fault, ok := checkKey(t)
	if !ok {
		return nil
	}
	answers, ok := t.DoAll(submissions(t, fault)...)
	if !ok {
		return nil
	}
	o := outcomeOf(t, fault, answers)
	stored, ok := t.Exec(o.end(t, begun.Rows[0][0][0])...)
	if !ok {
		return nil
	}
	answer := o.answer(t, in)
	if stored.Failure != turn.None {
		answer.Log = "record signal: " + string(stored.Failure) + ": the run has ended, and may be repeated in a minute"
	}
	return answer
}

// whyNotHere returns why no one can fire on this host, or "". Firing works on the canonical host,
// and elsewhere if all endpoints are on this machine, as in a test.
func whyNotHere(t *turn.Turn) string {
	s := t.Snapshot
	isElsewhere := func(url string) bool { return !strings.HasPrefix(url, "http://") } // http is for this machine only
	switch {
	case s.IndexNowKey == "" || len(s.IndexNowURLs) == 0:
		return noKey
	case t.ServedFrom() != s.CanonicalHost && slices.ContainsFunc(s.IndexNowURLs, isElsewhere):
		return "Firing works on the canonical host only: this host submits no addresses."
	}
	return ""
}

const noKey = "This service has no key for search engines, so it submits no addresses."

func keyFile(origin, key string) string { return origin + "/" + key + ".txt" }

func checkKey(t *turn.Turn) (fault string, ok bool) {
	key := t.Snapshot.IndexNowKey
	if key == "" {
		return noKey, true
	}
	file, ok := t.Do(turn.Fetch{
		Method: "GET", URL: keyFile(t.Origin(), key), Header: agent(t),
		MaxBytes: len(key) + 1, TimeoutMillis: keyTimeout * 1000, ShareSeconds: ShareSeconds,
	})
	switch {
	case !ok:
		return "", false
	case file.Failure != turn.None:
		return "The key file could not be fetched.", true
	case file.Status != 200:
		return "The key file has status " + strconv.Itoa(file.Status) + ", want 200.", true
	case string(file.Data) != key:
		return "The key file does not contain the key, byte for byte.", true
	}
	return "", true
}

func agent(t *turn.Turn) []turn.Header {
	return []turn.Header{{Name: "user-agent", Value: "anteroom (+" + t.Snapshot.BaseURL() + "/)"}}
}

func writeReport(t *turn.Turn, w *jsondoc.Writer, fault string) {
	s := t.Snapshot
	signal, file := "blocked", ""
	if fault == "" {
		signal, fault = "ready", "The key file verifies. This is a report: no addresses were submitted."
	}
	w.Str("signal", signal)
	w.Str("detail", fault)
	if s.IndexNowKey != "" {
		file = keyFile(t.Origin(), s.IndexNowKey)
	}
	w.StrOrNull("key_file", file)
	w.Strs("urls", s.Sitemap)
	w.Strs("endpoints", s.IndexNowURLs)
}

// begin inserts a run, unless another one for the same host and addresses is under way or in its
// pause, and reads the newest such run, in one transaction: two callers cannot both send.
func begin(t *turn.Turn) []turn.Statement {
	hash := sha256.HexOf(t.ServedFrom() + "\n" + strings.Join(t.Snapshot.Sitemap, "\n"))
	const current = " FROM signal_runs WHERE urls_sha256 = ? AND started_at > ? AND started_at > ? - CASE outcome " +
		"WHEN 'fired' THEN ? WHEN 'failed' THEN coalesce(body ->> 'pause', ?) ELSE ? END"
	args := []any{hash, t.Now - maxPause, t.Now, int64(FiredPause), int64(FailedPause), int64(lease)}
	return []turn.Statement{
		turn.SQL("INSERT INTO signal_runs (urls_sha256, started_at) SELECT ?, ? WHERE NOT EXISTS (SELECT 1"+current+
			") RETURNING id", append([]any{hash, t.Now}, args...)...),
		turn.SQL("SELECT started_at, outcome, body"+current+" ORDER BY id DESC LIMIT 1", args...),
	}
}

type outcome struct {
	body     string // JSON text of an object: detail, submitted, accepted_by, rejected_by, results, pause
	fired    bool
	replayed bool
	started  int64
}

func submissions(t *turn.Turn, fault string) (effects []turn.Effect) {
	if fault != "" {
		return nil
	}
	s := t.Snapshot
	list := jsondoc.Writer{}
	list.Open('{')
	list.Str("host", s.CanonicalHost)
	list.Str("key", s.IndexNowKey)
	list.Str("keyLocation", keyFile(s.BaseURL(), s.IndexNowKey))
	list.Strs("urlList", s.Sitemap)
	list.Close('}')
	header := append(agent(t), turn.Header{Name: "content-type", Value: "application/json; charset=utf-8"})
	send := turn.Fetch{
		Method: "POST", Header: header, Body: list.Buf, MaxBytes: maxAnswer, TimeoutMillis: sendTimeout * 1000,
	}
	for _, endpoint := range s.IndexNowURLs {
		send.URL = endpoint
		effects = append(effects, send)
	}
	return effects
}

func outcomeOf(t *turn.Turn, fault string, answers []turn.Result) (o outcome) {
	s := t.Snapshot
	accepted, rejected := []string{}, []string{}
	results, pause := jsondoc.Writer{}, int64(FailedPause)
	results.Open('[')
	for i := range answers {
		r, endpoint := &answers[i], s.IndexNowURLs[i]
		taken := r.Failure == turn.None && r.Status/100 == 2
		if taken {
			accepted = append(accepted, endpoint)
		} else {
			rejected = append(rejected, endpoint)
			pause = max(pause, min(r.Reset, maxPause))
		}
		results.Open('{')
		results.Str("endpoint", endpoint)
		respond.WriteStatus(&results, "status", r)
		results.Bool("accepted", taken)
		results.Str("detail", describe(r))
		results.Close('}')
	}
	results.Close(']')

	o.fired, o.started = len(accepted) > 0, t.Now
	submitted := 0
	w := jsondoc.Writer{}
	w.Open('{')
	switch {
	case o.fired:
		submitted = len(s.Sitemap)
		w.Str("detail", "Accepted by "+strconv.Itoa(len(accepted))+" of "+strconv.Itoa(len(answers))+
			" endpoints. Accepted is not indexed.")
	case fault != "":
		w.Str("detail", fault+" No address was submitted or queued.")
	default:
		w.Str("detail", "No endpoint accepted the addresses: see results.")
	}
	w.Int("submitted", int64(submitted))
	w.Strs("accepted_by", accepted)
	w.Strs("rejected_by", rejected)
	w.Raw("results", string(results.Buf))
	w.Int("pause", pause)
	w.Close('}')
	o.body = string(w.Buf)
	return o
}

func describe(r *turn.Result) string {
	switch {
	case r.Failure == turn.Timeout:
		return "timed out: whether it took the addresses is not known"
	case r.Failure != turn.None:
		return "not reachable"
	}
	text := "not accepted"
	if r.Status/100 == 2 {
		text = "accepted"
	}
	if v, err := jsondoc.Parse(r.Data); err == nil && v.Get("errorCode").Text != "" {
		text += " (" + input.TruncateRunes(v.Get("errorCode").Text) + ")"
	}
	if r.Reset > 0 {
		text += ", again in " + strconv.FormatInt(r.Reset, 10) + " seconds"
	}
	return text
}

func (o *outcome) end(t *turn.Turn, run any) []turn.Statement {
	name := "failed"
	if o.fired {
		name = "fired"
	}
	return []turn.Statement{
		turn.SQL("UPDATE signal_runs SET finished_at = ?, outcome = ?, body = ? WHERE id = ?", o.started, name, o.body, run),
		turn.SQL("DELETE FROM signal_runs WHERE started_at < ?", t.Now-KeepDays*24*3600),
	}
}

func replay(t *turn.Turn, in *input.Input, rows [][]any) *turn.Response {
	var o outcome
	if len(rows) == 1 {
		row := rows[0]
		o = outcome{started: turn.Integer(row[0]), fired: turn.Text(row[1]) == "fired", body: turn.Text(row[2]), replayed: true}
	}
	if o.body == "" {
		return respond.RetryLater(t, respond.SignalUnderWay,
			"Another firing is under way: this one submitted no addresses. Ask again for its outcome.", keyTimeout+sendTimeout)
	}
	return o.answer(t, in)
}

func (o *outcome) answer(t *turn.Turn, in *input.Input) *turn.Response {
	v, _ := jsondoc.Parse([]byte(o.body))
	write := func(w *jsondoc.Writer, signal string, names ...string) {
		w.Str("signal", signal)
		for _, name := range names {
			w.Raw(name, string(v.Get(name).Raw))
		}
		w.Bool("replayed", o.replayed)
		w.Str("fired_at", civil.FormatTime(o.started))
	}
	if !o.fired {
		return respond.Problem(t, respond.SignalFailed, v.Get("detail").Text, nil, func(w *jsondoc.Writer) {
			write(w, "failed", "submitted", "accepted_by", "rejected_by", "results")
		})
	}
	return respond.OK(t, func(w *jsondoc.Writer) {
		write(w, "fired", "detail", "submitted", "accepted_by", "rejected_by", "results")
		respond.WriteCapped(w, "ignored_fields", in.Ignored())
	})
}
