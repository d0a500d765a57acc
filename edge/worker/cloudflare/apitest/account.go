package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Dataset is the dataset of Analytics Engine that the server has.
const Dataset = "anteroom_observed"

// Accounts sets the ids of the accounts that the token has.
func (s *Server) Accounts(ids ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.accounts = ids
}

// ExpireToken sets when the token expires.
func (s *Server) ExpireToken(at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.expires = at
}

func (s *Server) listAccounts(r *request) Answer {
	list := []any{}
	for i, id := range s.accounts {
		list = append(list, object{"id": id, "name": fmt.Sprintf("account %d", i+1)})
	}
	return paged(r, 20, list)
}

func (s *Server) verifyToken(*request) Answer {
	token := object{"id": "ed17574386854bf78a67040be0a770b0", "status": "active"}
	if !s.expires.IsZero() {
		token["expires_on"] = s.expires.UTC().Format(time.RFC3339)
	}
	return success(token)
}

// Observe sets the rows that Analytics Engine answers from now on, whatever it is asked.
func (s *Server) Observe(t testing.TB, rows ...Observed) {
	t.Helper()
	data := []any{}
	for _, r := range rows {
		data = append(data, object{"day": r.Day, "client": r.Client, "kind": r.Kind, "n": fmt.Sprint(r.N)})
	}
	meta := []any{}
	for _, column := range [][2]string{{"day", "String"}, {"client", "String"}, {"kind", "String"}, {"n", "UInt64"}} {
		meta = append(meta, map[string]string{"name": column[0], "type": column[1]})
	}
	text, err := json.Marshal(object{"meta": meta, "data": data, "rows": len(rows)})
	if err != nil {
		t.Fatal(err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.observed = text
}

// Observed is a row that Analytics Engine answers.
type Observed struct {
	Day, Client, Kind string
	N                 int64
}

// EnableAnalytics enables Analytics Engine for the account: until then a binding to it is refused.
func (s *Server) EnableAnalytics() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.analytics = true
}

func (s *Server) analyticsSQL(r *request) Answer {
	query := string(r.body)
	if !strings.Contains(query, " FROM "+Dataset) || !strings.HasSuffix(query, " FORMAT JSON") {
		return Answer{http.StatusUnprocessableEntity, []byte("cannot parse the query"), "text/plain"}
	}
	return Answer{Status: http.StatusOK, Body: s.observed}
}

// address is a destination address of Email Routing.
type address struct {
	id, email         string
	created, verified time.Time
}

// AddAddress adds a destination address of Email Routing, or makes the one that is there verified.
func (s *Server) AddAddress(email string, verified bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := slices.IndexFunc(s.addresses, func(a *address) bool { return a.email == email })
	if i < 0 {
		i = len(s.addresses)
		s.addresses = append(s.addresses, &address{id: newID(), email: email, created: s.now()})
	}
	s.addresses[i].verified = time.Time{}
	if verified {
		s.addresses[i].verified = s.now()
	}
}

func (a *address) answer() object {
	answer := object{"id": a.id, "tag": a.id, "email": a.email, "created": stamp(a.created), "modified": stamp(a.created), "verified": nil}
	if !a.verified.IsZero() {
		answer["verified"], answer["modified"] = stamp(a.verified), stamp(a.verified)
	}
	return answer
}

func (s *Server) listAddresses(r *request) Answer {
	if name, is := queried(r, "page", "per_page", "direction", "verified"); is {
		return malformed("unknown parameter %q", name)
	}
	wanted := cmp.Or(r.URL.Query().Get("verified"), "true") // as the API's reference has it
	list := []any{}
	for _, a := range s.addresses {
		if wanted == fmt.Sprint(!a.verified.IsZero()) {
			list = append(list, a.answer())
		}
	}
	return paged(r, 20, list)
}

// createAddress adds an address that its owner has yet to verify.
func (s *Server) createAddress(r *request) Answer {
	var call struct {
		Email string `json:"email"`
	}
	if err := r.read(&call); err != nil || !strings.Contains(call.Email, "@") {
		return malformed("email: %v", err)
	}
	if slices.ContainsFunc(s.addresses, func(a *address) bool { return a.email == call.Email }) {
		return refusal(http.StatusConflict, 2032, "Destination address already exists") // the code is unknown
	}
	a := &address{id: newID(), email: call.Email, created: s.now()}
	s.addresses = append(s.addresses, a)
	return success(a.answer())
}
