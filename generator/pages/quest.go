package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
)

// stores is false for a receipt, which only its caller has.
func stores(route *api.Route, op *api.Operation) bool { return op.Writes && route.Tag != "receipt" }

type questStep struct {
	model.QuestStep
	Command string
	Part    string // section of the page: read, receipt or leave
	Leaves  string // what the service stores or sends on, or nothing
	op      *api.Operation
}

func (g *family) QuestSteps() (steps []questStep) {
	for i, made := range g.Quest().Steps {
		content := &g.Site.Quest.Steps[i]
		route, op := api.Find(content.Operation)
		step := questStep{QuestStep: made, Part: "read", Leaves: "nothing", op: op}
		switch {
		case stores(route, op):
			step.Part, step.Leaves = "leave", cmp.Or(content.Leaves, "a record")
		case route.Tag == "receipt":
			step.Part = "receipt"
		}
		if content.Method() == http.MethodGet {
			step.Command = g.GetCommand(route, op)
		} else {
			step.Command = g.QuestCurl(content)
		}
		steps = append(steps, step)
	}
	return steps
}

func (g *family) QuestPart(part string) []questStep {
	return slices.DeleteFunc(g.QuestSteps(), func(s questStep) bool { return s.Part != part })
}

var placeholder = regexp.MustCompile("<[^<>]*>")

// QuestPaste returns the commands of the first steps, up to one that leaves something. A name is
// empty in them: the placeholder would be on the receipt.
func (g *family) QuestPaste() (commands []string) {
	for _, step := range g.QuestSteps() {
		if step.Part == "leave" {
			break
		}
		command := placeholder.ReplaceAllString(step.Command, "")
		if !strings.Contains(command, " -o ") {
			command += ` -w '\n'` // the answers have no line end
		}
		commands = append(commands, command)
	}
	return commands
}

// shownMembers names the members of an answer that its slip shows.
var shownMembers = map[string][]string{
	"getPresence":      {"status", "since", "live_endpoints"},
	"getAcceptableUse": {"version", "prohibited"},
	"getScoreboard":    slices.Concat([]string{"as_of"}, mainCounts[:3]),
	"sendSuggestion":   {"filed", "text_sha256"},
	"registerAgent":    {"registration.agent_name", "registration.pubkey", "payload_sha256", "record_id"},
}

func (g *family) stepAnswer(op *api.Operation) (rows []slipRow) {
	text := []byte(g.Example(op).Answer)
	if op.Document != nil {
		text = g.Snapshot.Documents[op.Document.ID]
	}
	answer, _ := jsondoc.Parse(text) // the endpoint made it; none has no members
	for _, path := range shownMembers[op.ID] {
		v, name := &answer, path
		for part := range strings.SplitSeq(path, ".") {
			v, name = v.Get(part), part
		}
		value := string(v.Raw)
		switch v.Kind {
		case jsondoc.String:
			value = v.Text
		case jsondoc.Array:
			value = strconv.Itoa(len(v.Items))
		}
		rows = append(rows, slipRow{Name: cmp.Or(countLabel(path), name), Value: value})
	}
	return rows
}

func (g *family) questLeft(pasted int) []slipRow {
	rows := []slipRow{{Name: fmt.Sprint("steps 1 to ", pasted), Value: "nothing"}}
	for _, s := range g.QuestSteps()[pasted:] {
		rows = append(rows, slipRow{Name: fmt.Sprint("step ", s.N), Value: s.Leaves})
	}
	return rows
}
