// Package api is the one route table. Contracts, OpenAPI, llms.txt, the manifest, 404 and 405
// bodies and MCP tools all derive from it.
package api

import (
	"slices"

	"anteroom/edge/core"
)

// Cache says how long an answer may be kept.
type Cache string

// The cache policies of answers.
const (
	NoStore  Cache = "no-store"
	Constant Cache = "public, max-age=300, stale-while-revalidate=86400" // changes with the content only
	Spec     Cache = "public, max-age=60"                                // changes with the key too
)

// Route is one path under /api/.
type Route struct {
	ID         string // "waitlist": key of its wording in the content, and of its contract in the snapshot
	Path       string // "/api/waitlist"
	Tag        string // group in the OpenAPI document
	Operations []*Operation
}

// Operation is one thing that can be done at a route.
type Operation struct {
	ID      string       // "registerAgent": key of its wording in the content
	Methods []string     // "GET", "POST"
	Fields  []core.Field // what it reads, from the query of a GET and from the body of a POST
	Strict  bool         // a field that is not among Fields is a fault
	Writes  bool         // something is stored, sent or signed: counted by the rate limiter
	DryRun  bool         // takes dry_run=1 in its query
	Cache   Cache
	Answer  any   // zero value of the type of its 200 answer, without the trailer
	Errors  []int // the statuses besides 400, 405, 421 and 500 that it may answer
}

// Routes is the route table, in the order of the documentation.
var Routes []*Route

// Methods are the methods of a route besides HEAD and OPTIONS.
func (r *Route) Methods() (methods []string) {
	for _, op := range r.Operations {
		for _, method := range op.Methods {
			if !slices.Contains(methods, method) {
				methods = append(methods, method)
			}
		}
	}
	return methods
}
