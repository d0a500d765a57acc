package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
	"anteroom/generator/site"

	"github.com/a-h/templ"
)

const receiptTag = "receipt"

// stores is false for a receipt, which only its caller has.
func stores(route *api.Route, op *api.Operation) bool { return op.Writes && route.Tag != receiptTag }

type questStep struct {
	model.QuestStep
	operation operation
	content   site.QuestStep
}

func (g *family) QuestSteps() (steps []questStep) {
	for i, step := range g.Quest().Steps {
		content := g.Site.Quest.Steps[i]
		route, op := api.Find(content.Operation)
		steps = append(steps, questStep{step, operation{Operation: op, family: g, route: route}, content})
	}
	return steps
}

// QuestPart returns the steps of a section of the page: read, receipt or leave.
func (g *family) QuestPart(part string) []questStep {
	return slices.DeleteFunc(g.QuestSteps(), func(s questStep) bool {
		switch {
		case s.Leaves() != "":
			return part != "leave"
		case s.operation.route.Tag == receiptTag:
			return part != "receipt"
		}
		return part != "read"
	})
}

// Leaves names what the service stores of a step. It is "" for nothing.
func (s *questStep) Leaves() string {
	if !stores(s.operation.route, s.operation.Operation) {
		return ""
	}
	return cmp.Or(s.content.Leaves, "a record")
}

// ToolArguments returns "" for a tool that is called without any.
func (s *questStep) ToolArguments() string {
	if s.content.Method() == http.MethodGet {
		return ""
	}
	return string(s.Arguments)
}

func (s *questStep) Command() string {
	if s.content.Method() == http.MethodGet {
		return s.operation.family.GetCommand(s.operation.route, s.operation.Operation)
	}
	return s.operation.family.QuestCurl(&s.content)
}

// QuestPaste returns the commands of the first steps, up to one that leaves something. They send no
// name, as a receipt would have a placeholder on it.
func (g *family) QuestPaste() (commands []string) {
	for _, step := range g.QuestSteps() {
		if step.Leaves() != "" {
			break
		}
		if strings.Contains(step.content.Body, "<") {
			step.content.Body = "{}"
		}
		commands = append(commands, step.Command())
	}
	return commands
}

func (g *family) questRows() (all, left []slipRow) {
	quest, paste := &g.Site.Quest, len(g.QuestPaste())
	left = []slipRow{{Name: "steps 1 to " + strconv.Itoa(paste), Value: "nothing"}}
	for _, step := range g.QuestSteps()[paste:] {
		left = append(left, slipRow{Name: "step " + strconv.Itoa(step.N), Value: cmp.Or(step.Leaves(), "nothing")})
	}
	return []slipRow{
		{Name: "steps", Value: strconv.Itoa(len(quest.Steps))},
		{Name: "time", Value: fmt.Sprint(quest.EstTimeSeconds, " s")},
		{Name: "key, e-mail", Value: "none"},
	}, left
}

// shownMembers names the members of an answer that its slip shows. Of another answer it shows each
// short one.
var shownMembers = map[string][]string{
	"getPresence":      {"status", "since", "live_endpoints"},
	"getAcceptableUse": {"version", "prohibited"},
	"getScoreboard": {
		"as_of", "pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded", "orgs.charters_filed",
	},
	"sendSuggestion": {"filed", "text_sha256"},
	"registerAgent":  {"payload_sha256", "record_id"},
}

// stepAnswer is the answer to a step, as a slip.
type stepAnswer struct {
	N          int
	Rows       []slipRow
	RecordedAt string // "" if nothing is recorded
}

func (g *family) stepAnswers(part string) (all []stepAnswer) {
	for _, step := range g.QuestPart(part) {
		op := step.operation
		text := []byte(g.Example(op.Operation).Answer)
		if op.Document != nil {
			text = g.Snapshot.Documents[op.Document.ID]
		}
		answer, _ := jsondoc.Parse(text) // the endpoint made it; none has no members
		rows := op.answerRows()
		if names := shownMembers[op.ID]; names != nil {
			rows = memberRows(&answer, names)
		}
		if rows != nil {
			all = append(all, stepAnswer{step.N, rows, answer.Get("recorded_at").Text})
		}
	}
	return all
}

func memberRows(answer *jsondoc.Value, paths []string) (rows []slipRow) {
	for _, path := range paths {
		v, name := answer, path
		for part := range strings.SplitSeq(path, ".") {
			v, name = v.Get(part), part
		}
		text := v.Text
		switch v.Kind {
		case jsondoc.Bool:
			text = strconv.FormatBool(v.True)
		case jsondoc.Array:
			text = strconv.Itoa(len(v.Items))
		}
		rows = append(rows, slipRow{Name: cmp.Or(countLabel(path), name), Value: text})
	}
	return rows
}

func (g *family) questSlip(part string) templ.Component {
	if part == "receipt" {
		rows, isSigned := g.mintRows(), g.Site.Service.ReceiptKeys.Current != ""
		return questReceipt(rows, g.Site.Receipt != nil, isSigned)
	}
	return stepAnswers(g.stepAnswers(part))
}
