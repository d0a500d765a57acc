package generator

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/turn"
	"anteroom/generator/model"
)

// exampleSnapshot makes the snapshot that examples are made of. It has nothing of a board and one
// address of the sitemap, so that the examples change with the service's words alone.
func (d *openAPIDocument) exampleSnapshot() {
	example := *d.snapshot
	example.AsOf, _, _ = strings.Cut(model.ExampleTime, "T")
	example.Sitemap = example.Sitemap[:1]
	d.example = &example
}

// exampleRequest is a body for an operation, as build makes it. Where a required object has no
// example of its own, its example is what the writing operation of the route answers: the receipt
// to verify is one that was minted.
func (d *openAPIDocument) exampleRequest(route *api.Route, op *api.Operation, build func(*api.Operation) model.JSON) model.JSON {
	withExamples := *op
	withExamples.Fields = slices.Clone(op.Fields)
	for i := range withExamples.Fields {
		if f := &withExamples.Fields[i]; f.Type == input.Object && f.Example == "" && !op.Writes {
			f.Example = string(d.exampleAnswer(route, writeOperation(route)))
		}
	}
	return build(&withExamples)
}

// exampleAnswer is what the handler of an operation answers to the example request, on a host
// without a receipt key.
func (d *openAPIDocument) exampleAnswer(route *api.Route, op *api.Operation) model.JSON {
	request := d.exampleRequest(route, op, exampleBody)
	response := d.runTurn(turn.Request{}, func(t *turn.Turn) *turn.Response { return op.Handle(t, input.ParseBody(request)) })
	if response == nil || response.Status != http.StatusOK {
		d.fault("openapi.json: %s does not answer its own example %s", op.ID, request)
		return nil
	}
	return response.Body
}

// measure keeps the size of what a bare GET of a route answers, where that is a document.
func (d *openAPIDocument) measure(route *api.Route) {
	operations := operationsWith(route, http.MethodGet)
	if slices.ContainsFunc(operations, func(op *api.Operation) bool { return op.Document != nil }) {
		answer := d.runTurn(turn.Request{Method: http.MethodGet, Target: route.Path}, d.edge.Handle)
		d.answerSizes[route.Path] = len(answer.Body)
	}
}

// runTurn answers a request to the canonical host, at the time of all examples.
func (d *openAPIDocument) runTurn(request turn.Request, handle func(*turn.Turn) *turn.Response) *turn.Response {
	now, err := time.Parse(time.RFC3339, model.ExampleTime)
	if err != nil {
		d.fault("openapi.json: the time of the examples: %w", err)
	}
	request.Host = d.example.CanonicalHost
	return turn.Run(&turn.Turn{Request: request, Now: now.Unix()}, func(t *turn.Turn) turn.Outcome {
		t.Begin(d.example)
		return t.Outcome(handle(t))
	}, d.performEffects)
}

// performEffects lets every effect succeed: the first statement gives the number 1, the key file of
// IndexNow is there, every other server answers 200, and the service answers requests to itself.
func (d *openAPIDocument) performEffects(effects []turn.Effect) (results []turn.Result) {
	for _, effect := range effects {
		var result turn.Result
		switch e := effect.(type) {
		case turn.Exec:
			result.Rows = make([][][]any, len(e.Statements))
			result.Rows[0] = [][]any{{int64(1)}}
		case turn.Fetch:
			result.Status = http.StatusOK
			target := strings.TrimPrefix(e.URL, d.base)
			switch {
			case e.Self:
				answer := d.runTurn(turn.Request{Method: e.Method, Target: target, Body: e.Body}, d.edge.Handle)
				result.Status, result.Data = answer.Status, answer.Body
			case target == "/"+d.snapshot.IndexNowKey+".txt":
				result.Data = []byte(d.snapshot.IndexNowKey)
			}
		}
		results = append(results, result)
	}
	return results
}
