// Package apitest is Cloudflare's API for tests, as far as the operator's commands call it: one
// account with its zones, over loopback. It keeps state as the platform does, answers in its form,
// and fails in the ways that a test asks for.
//
// It is strict: a call of another method, path or content type than the API documents, a member
// that it does not know, and a part that is missing are refused. What the platform answers there is
// not documented; where the codes are known they are the platform's, and else they are of the
// nearest kind. Where the platform's behaviour is unknown, the server behaves in the way that is
// harder on its caller, and says so beside the code.
package apitest

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is the API of one account.
type Server struct {
	URL     string // the base of the API
	Token   string
	Account string // its id
	Folder  string // where the databases are, as Miniflare keeps them

	mux   *http.ServeMux
	ended chan struct{} // closed when the test ends

	mutex    sync.Mutex // of the members below
	accounts []string
	faults   []expected
	calls    []Call
	denied   []denial
	expires  time.Time // of the token, zero for never
	last     time.Time // the last that now gave
	changed  chan struct{}

	observed      []byte
	analytics     bool // whether Analytics Engine is enabled
	subdomain     string
	databases     []*Database
	workers       map[string]*worker
	files         map[string]Asset // what was uploaded, by hash
	sessions      map[string]*session
	zones         []*Zone
	domains       []*domain
	addresses     []*address
	databaseConns []*sql.DB
}

// Call is a call that was made of the server.
type Call struct {
	Method, Path string // the path without the base
	Query        string
	Body         string
	Status       int // of the answer, 0 where a fault answered
}

// denial is what the token may not do.
type denial struct{ method, prefix string }

// Start starts a server whose account has nothing. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		Token: "token-of-a-test-0123456789", Account: "0123456789abcdef0123456789abcdef", Folder: t.TempDir(),
		mux: http.NewServeMux(), ended: make(chan struct{}), changed: make(chan struct{}),
		workers: map[string]*worker{}, files: map[string]Asset{}, sessions: map[string]*session{}, subdomain: "tern",
	}
	s.Observe(t)
	s.accounts = []string{s.Account}
	s.routes()
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.ended)
		server.Close()
		for _, db := range s.databaseConns {
			db.Close()
		}
	})
	s.URL = server.URL + "/client/v4"
	return s
}

// Variables are the variables that wrangler takes from its environment, as KEY=VALUE.
func (s *Server) Variables() []string {
	return []string{"CLOUDFLARE_API_BASE_URL=" + s.URL, "CLOUDFLARE_API_TOKEN=" + s.Token, "CLOUDFLARE_ACCOUNT_ID=" + s.Account}
}

// Setenv sets Variables for the test.
func (s *Server) Setenv(t testing.TB) {
	t.Helper()
	for _, variable := range s.Variables() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
}

// Calls are the calls that were made so far, those that failed too.
func (s *Server) Calls() []Call {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Call(nil), s.calls...)
}

// Deny takes from the token the permission for the calls whose path, without the base and the
// account, begins with a prefix. The method "" is any. "zones/Z/" is of the zone with the id Z.
func (s *Server) Deny(method, prefix string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.denied = append(s.denied, denial{method, prefix})
}

// routes tells which calls there are.
func (s *Server) routes() {
	account := func(pattern string, handle handler) {
		method, path, _ := strings.Cut(pattern, " ")
		s.route(method+" /accounts/{account}/"+path, handle)
	}
	s.route("GET /accounts", s.listAccounts)
	s.route("GET /user/tokens/verify", s.verifyToken)
	account("GET tokens/verify", s.verifyToken)
	account("POST analytics_engine/sql", s.analyticsSQL)
	account("GET email/routing/addresses", s.listAddresses)
	account("POST email/routing/addresses", s.createAddress)

	account("GET d1/database", s.listDatabases)
	account("POST d1/database", s.createDatabase)
	account("GET d1/database/{database}", s.getDatabase)
	account("POST d1/database/{database}/query", s.queryDatabase)
	account("POST d1/database/{database}/raw", s.queryDatabase)

	account("GET workers/subdomain", s.getAccountSubdomain)
	account("GET workers/scripts", s.listWorkers)
	account("GET workers/services/{worker}", s.getService)
	account("PUT workers/scripts/{worker}", s.putWorker)
	account("GET workers/scripts/{worker}/settings", s.getSettings)
	account("GET workers/scripts/{worker}/script-settings", s.getScriptSettings)
	s.wranglersRoutes(account)
	account("PATCH workers/scripts/{worker}/script-settings", s.patchScriptSettings)
	account("GET workers/scripts/{worker}/versions", s.listVersions)
	account("POST workers/scripts/{worker}/versions", s.createVersion)
	account("GET workers/scripts/{worker}/versions/{version}", s.getVersion)
	account("GET workers/scripts/{worker}/deployments", s.listDeployments)
	account("POST workers/scripts/{worker}/deployments", s.createDeployment)
	account("GET workers/scripts/{worker}/secrets", s.listSecrets)
	account("PUT workers/scripts/{worker}/secrets", s.putSecret)
	account("GET workers/scripts/{worker}/schedules", s.getSchedules)
	account("PUT workers/scripts/{worker}/schedules", s.putSchedules)
	account("GET workers/scripts/{worker}/subdomain", s.getSubdomain)
	account("POST workers/scripts/{worker}/subdomain", s.postSubdomain)
	account("POST workers/scripts/{worker}/assets-upload-session", s.beginAssets)
	account("POST workers/assets/upload", s.uploadAssets)
	account("GET workers/domains", s.listDomains)
	account("PUT workers/domains", s.putDomain)

	s.route("GET /zones", s.listZones)
	s.route("GET /zones/{zone}", s.getZone)
	s.route("GET /zones/{zone}/settings/{setting}", s.getZoneSetting)
	s.route("PATCH /zones/{zone}/settings/{setting}", s.patchZoneSetting)
	s.route("GET /zones/{zone}/bot_management", s.getBots)
	s.route("GET /zones/{zone}/dns_records", s.listRecords)
	s.route("GET /zones/{zone}/rulesets/phases/{phase}/entrypoint", s.getRules)
	s.route("PUT /zones/{zone}/rulesets/phases/{phase}/entrypoint", s.putRules)
	s.route("POST /zones/{zone}/purge_cache", s.purge)
}

// handler performs a call, while nobody else does.
type handler func(r *request) Answer

// request is a call.
type request struct {
	*http.Request
	body []byte
}

func (s *Server) route(pattern string, handle handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // of a bytes.Reader
		if err != nil {
			panic(err)
		}
		handle(&request{r, body}).write(w)
	})
}

// ServeHTTP answers a call of the API, by the next fault where there is one for it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mutex.Lock()
	number := len(s.calls)
	call := Call{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/client/v4/"), Query: r.URL.RawQuery, Body: string(body)}
	s.calls = append(s.calls, call)
	fault := s.nextFault(call)
	s.mutex.Unlock()
	perform := func() Answer {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		answer := s.perform(r, body)
		s.calls[number].Status = answer.Status
		return answer
	}
	if fault == nil {
		fault = Well
	}
	fault(w, perform)
}

// perform performs a call.
func (s *Server) perform(r *http.Request, body []byte) Answer {
	path, api := strings.CutPrefix(r.URL.Path, "/client/v4")
	upload := path == "/accounts/"+s.Account+"/workers/assets/upload" // has tokens of its own
	switch expired := !s.expires.IsZero() && !time.Now().Before(s.expires); {
	case !upload && r.Header.Get("Authorization") != "Bearer "+s.Token:
		return refusal(http.StatusForbidden, 10000, "Authentication error")
	case !upload && expired:
		return refusal(http.StatusUnauthorized, 1000, "Invalid API Token")
	case !api:
		return refusal(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path)
	}
	rest, isAccount := strings.CutPrefix(path, "/accounts/")
	if isAccount {
		id, below, _ := strings.Cut(rest, "/")
		if rest = below; id != s.Account {
			return refusal(http.StatusForbidden, 7403, "The given account is not valid or is not authorized to access this service")
		}
	} else {
		rest = strings.TrimPrefix(path, "/")
	}
	if slices.ContainsFunc(s.denied, func(d denial) bool {
		return (d.method == "" || d.method == r.Method) && strings.HasPrefix(rest, d.prefix)
	}) {
		return refusal(http.StatusForbidden, 10000, "Authentication error")
	}
	below := r.Clone(r.Context())
	below.URL.Path, below.URL.RawPath, below.Body = path, "", io.NopCloser(bytes.NewReader(body))
	if _, pattern := s.mux.Handler(below); pattern == "" {
		for _, other := range []string{"GET", "POST", "PUT", "PATCH"} {
			if below.Method = other; other != r.Method {
				if _, pattern := s.mux.Handler(below); pattern != "" {
					return refusal(http.StatusMethodNotAllowed, 10405, "Method not allowed")
				}
			}
		}
		return refusal(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path+", perhaps your object identifier is invalid?")
	}
	recorder := httptest.NewRecorder()
	s.mux.ServeHTTP(recorder, below)
	answer := Answer{Status: recorder.Code, Body: recorder.Body.Bytes(), Type: recorder.Header().Get("Content-Type")}
	if r.Method != http.MethodGet && answer.Status < 400 {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return answer
}

// Answer is an answer of the API.
type Answer struct {
	Status int
	Body   []byte
	Type   string // of its content, "" for JSON
}

func (a Answer) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", cmp.Or(a.Type, "application/json"))
	w.WriteHeader(a.Status)
	w.Write(a.Body)
}

// object is an object of JSON.
type object = map[string]any

// refusal is the answer to a call that is refused.
func refusal(status, code int, message string) Answer {
	body, _ := json.Marshal(object{
		"success": false, "errors": []any{object{"code": code, "message": message}}, "messages": []any{}, "result": nil,
	})
	return Answer{Status: status, Body: body}
}

// malformed is the answer to a call that is not as the API documents it.
func malformed(format string, args ...any) Answer {
	return refusal(http.StatusBadRequest, 10026, "Could not parse request body, actual error was: "+fmt.Sprintf(format, args...))
}

func success(result any) Answer { return answered(http.StatusOK, object{"result": result}) }

// answered is an answer that is no error, with these members.
func answered(status int, members object) Answer {
	members["success"], members["errors"], members["messages"] = true, []any{}, []any{}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(members); err != nil {
		return refusal(http.StatusInternalServerError, 7500, "internal error")
	}
	return Answer{Status: status, Body: body.Bytes()}
}

// paged answers the page of a list that is asked for.
func paged(r *request, perPage int, list []any) Answer {
	page, size := number(r.URL.Query(), "page", 1), number(r.URL.Query(), "per_page", perPage)
	if page < 1 || size < 1 || size > 1000 {
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: there is no such page")
	}
	total := len(list)
	from := min((page-1)*size, total)
	list = append([]any{}, list[from:min(from+size, total)]...)
	return answered(http.StatusOK, object{"result": list, "result_info": object{
		"page": page, "per_page": size, "count": len(list), "total_count": total, "total_pages": (total + size - 1) / size,
	}})
}

// number is a number of a query, preset where it has none, and 0 where it is no number.
func number(query url.Values, name string, preset int) int {
	if !query.Has(name) {
		return preset
	}
	n, _ := strconv.Atoi(query.Get(name))
	return n
}

// queried reports the first name of a query that is none of names.
func queried(r *request, names ...string) (unknown string, is bool) {
	for name := range r.URL.Query() {
		if !slices.Contains(names, name) {
			return name, true
		}
	}
	return "", false
}

// read reads the JSON body of a call, strictly.
func (r *request) read(into any) error {
	if media := r.Header.Get("Content-Type"); media != "application/json" {
		return fmt.Errorf("the content type is %q", media)
	}
	return decode(r.body, into)
}

// decode reads a JSON text that has no member that into lacks.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("there is more than one value")
	}
	return nil
}

// now is the time, later than any that it gave before.
func (s *Server) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(s.last) {
		now = s.last.Add(time.Microsecond)
	}
	s.last = now
	return now
}

// stamp writes a time as the API does.
func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000000Z") }

// newID makes an identifier of 32 hexadecimal digits.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x", b)
}

// newUUID makes an identifier in the form of a UUID.
func newUUID() string {
	id := newID()
	return id[:8] + "-" + id[8:12] + "-4" + id[13:16] + "-a" + id[17:20] + "-" + id[20:]
}
