package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/model"
)

type Example struct {
	Template model.JSON // a body with placeholders, which the operation refuses
	Answer   model.JSON // to the body with examples instead; may be nil
}

func (g *Answers) Example(op *api.Operation) Example { return g.examples[op.ID] }

// rehearsal runs the edge with fake effects to make examples. Its snapshot has no counts and one
// address in the sitemap, so that examples change only with the service's words.
type rehearsal struct {
	*Answers
	snapshot snapshot.Snapshot
	edge     *api.API
	now      int64
}

func (g *Answers) rehearse() error {
	at, _ := time.Parse(time.RFC3339, model.ExampleTime)
	r := &rehearsal{Answers: g, snapshot: *g.Snapshot, now: at.Unix()}
	r.snapshot.AsOf = at.Format(time.DateOnly)
	r.snapshot.Sitemap = r.snapshot.Sitemap[:1]
	var err error
	if r.edge, err = api.Load(&r.snapshot); err != nil {
		return fmt.Errorf("examples: %w", err)
	}
	g.examples, g.sizes = map[string]Example{}, map[string]int{}
	for _, route := range api.Routes {
		for _, op := range slices.Backward(ReadsFirst(route)) {
			if err := r.example(route, op); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(OperationsWith(route, http.MethodGet),
			func(op *api.Operation) bool { return op.Document != nil }) {
			g.sizes[route.Path] = len(r.run(turn.Request{Method: http.MethodGet, Target: route.Path}, r.edge.Handle).Body)
		}
	}
	return nil
}

// example takes as a required object the answer of the route's writing operation: the receipt to
// verify is a minted one.
func (r *rehearsal) example(route *api.Route, op *api.Operation) error {
	filled := *op
	filled.Fields = slices.Clone(op.Fields)
	for i := range filled.Fields {
		if f := &filled.Fields[i]; f.Type == input.Object && f.Example == "" && !op.Writes {
			f.Example = string(r.Example(WriteOperation(route)).Answer)
		}
	}
	example := Example{Template: BodyTemplate(&filled)}
	if op.Handle != nil && len(r.AnswerTypes(op)) > 0 {
		body := ExampleBody(&filled)
		answer := r.run(turn.Request{}, func(t *turn.Turn) *turn.Response { return op.Handle(t, input.ParseBody(body)) })
		if answer == nil || answer.Status != http.StatusOK {
			return fmt.Errorf("%s does not answer its own example %s", op.ID, body)
		}
		example.Answer = answer.Body
	}
	r.examples[op.ID] = example
	return nil
}

func (r *rehearsal) run(request turn.Request, handle func(*turn.Turn) *turn.Response) *turn.Response {
	request.Host = r.snapshot.CanonicalHost
	return turn.Run(&turn.Turn{Request: request, Now: r.now}, func(t *turn.Turn) turn.Outcome {
		t.Begin(&r.snapshot)
		return t.Outcome(handle(t))
	}, r.perform)
}

func (r *rehearsal) perform(effects []turn.Effect) (results []turn.Result) {
	for _, effect := range effects {
		var result turn.Result
		switch e := effect.(type) {
		case turn.Exec:
			result.Rows = make([][][]any, len(e.Statements))
			result.Rows[0] = [][]any{{int64(1)}}
		case turn.Fetch:
			result.Status = http.StatusOK
			target := strings.TrimPrefix(e.URL, r.Base)
			switch {
			case e.Self:
				answer := r.run(turn.Request{Method: e.Method, Target: target, Body: e.Body}, r.edge.Handle)
				result.Status, result.Data = answer.Status, answer.Body
			case target == "/"+r.snapshot.IndexNowKey+".txt":
				result.Data = []byte(r.snapshot.IndexNowKey)
			}
		}
		results = append(results, result)
	}
	return results
}
