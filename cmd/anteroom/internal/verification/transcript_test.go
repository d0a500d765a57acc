package verification

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/generator/site"
)

var update = flag.Bool("update", false, "write the results of testdata/*.txt")

// TestTranscripts takes the steps of testdata/*.txt, the lines that begin with ">". The lines
// below a step are its result. {3} is the record_id of the third record.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, s, base, shown := "", newService(t), []string(nil), map[string]bool{}
			for line := range strings.Lines(string(want)) {
				step, is := strings.CutPrefix(line, "> ")
				if !is && !strings.HasPrefix(line, "#") && line != "\n" {
					continue
				}
				got += line
				s.shown = shown
				switch step = strings.TrimSpace(step); {
				case step == "begin":
					s, base = newService(t), nil
				case step == "again": // with the steps before the first time
					s = newService(t)
					s.shown = shown
					for _, step := range base {
						s.step(step)
					}
				case is:
					got += s.step(step)
					if !strings.Contains(got, "> again\n") {
						base = append(base, step)
					}
				}
			}
			if *update {
				err = os.WriteFile(file, []byte(got), 0o666)
			}
			if err != nil || !*update && got != string(want) {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

var (
	shortID = regexp.MustCompile(`\{(\d+)\}`)
	longID  = regexp.MustCompile(`\b0{24}[0-9a-f]{8}\b`)
	hashes  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	stores  = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
)

func (s *service) step(line string) string {
	line = shortID.ReplaceAllStringFunc(line, func(text string) string {
		n, _ := strconv.Atoi(text[1 : len(text)-1])
		return id(n)
	})
	name, rest, _ := strings.Cut(line, " ")
	first, words, _ := strings.Cut(rest, " ") // of a record or a verification
	at, text, _ := strings.Cut(words, " ")
	n, _ := strconv.Atoi(first)
	result := ""
	switch name {
	case "own_names:":
		file := s.content["service.yaml"]
		file.Data = regexp.MustCompile(`(?m)^own_names: .*$`).ReplaceAll(file.Data, []byte(line))
	case "register":
		agent, key, _ := strings.Cut(text+" ", "key=")
		agent, key = strings.TrimSpace(agent), strings.TrimSpace(key)
		s.register(n, agent, key, at)
	case "charter":
		s.charter(n, text, "[]", at)
	case "suggest":
		s.suggest(n, at)
	case "honest_read":
		s.read(rest)
	case "sql":
		s.exec(rest)
	case "log_key":
		s.list()
	case "stages":
		result = s.stages()
	case "board": // its lines that the board before does not have
		boards := s.site().Scoreboards
		parsed, _ := site.ParseBoard("", s.content[boardFile(boards[len(boards)-2].File)].Data)
		was := string(parsed.Encode())
		for line := range strings.Lines(string(s.content[boardFile(boards[len(boards)-1].File)].Data)) {
			if !strings.Contains(was, line) {
				result += "+ " + line
			}
		}
	case "audit":
		found, err := Audit(s.t.Context(), s.Store, s.site())
		if err != nil {
			return s.plain("refused: " + err.Error())
		}
		for _, list := range [][]string{found.Changed, found.Early, found.Notes, found.Own} {
			for _, one := range list {
				result += one + "\n"
			}
			result += "-\n"
		}
		result = strings.TrimRight(result, "-\n") // changed, early, notes and own
	case "template": // its lines that no template before has
		for line := range strings.Lines(string(s.take(first).template())) {
			if line = s.plain(line); !s.shown[line] {
				result += "| " + line
			}
			s.shown[line] = true
		}
	case "verify", "try":
		result = s.decided(scope{}, first, words, name == "try")
	case "through":
		result = s.decided(scope{through: moment(first)}, at, text, false)
	case "new-store":
		result = s.decided(scope{newStore: true}, first, words, false)
	default:
		s.t.Fatalf("unknown step %s", line)
	}
	return s.plain(result)
}

// howLost is repeated in many refusals.
const howLost = "the store differs from the verified one (bring the records back from a backup, then verify again; " +
	"if they are lost for good, say why: lost: REASON):"

// plain leaves out what differs in each run.
func (s *service) plain(text string) string {
	text = longID.ReplaceAllStringFunc(text, func(long string) string {
		n, _ := strconv.ParseInt(long, 16, 64)
		return fmt.Sprintf("{%d}", n)
	})
	text = strings.ReplaceAll(text, howLost, "…")
	text = stores.ReplaceAllString(hashes.ReplaceAllString(text, "HASH"), "STORE")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// decided makes a verification, and puts it into the content unless it only tries. answers are the
// members of a YAML mapping.
func (s *service) decided(limits scope, now, answers string, try bool) (result string) {
	v, err := newSurvey(s.t.Context(), s.Store, s.site(), s.content, limits, moment(now))
	if err != nil {
		return "refused: " + err.Error()
	}
	for _, odd := range v.odd {
		result += "odd: " + odd + "\n"
	}
	if answers == "" {
		answers = "texts: {}"
	}
	a, err := parseAnswers("", []byte("{"+answers+"}"))
	var d *decided
	if err == nil {
		if a.Through == "" {
			a.Through = v.through
		}
		d, err = s.decide(v, a)
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			result += "refused: " + line
		}
		return result
	}
	current := d.site.Current()
	result += "verified " + v.name + ":"
	for i, name := range []string{"vouched", "registrations", "charters", "suggestions", "own"} {
		result += fmt.Sprintf(" %d %s", site.Numbers[i].Of(current), name)
	}
	result += fmt.Sprintf("; %d new\n", len(v.kinds[0].fresh)+len(v.kinds[1].fresh)+len(v.kinds[2].fresh))
	for _, one := range d.verification.Decisions {
		result += fmt.Sprintf("  %s %d %s", one.Decision, strings.Count(one.Records, "\n"), one.Kind)
		if one.Corrects != "" {
			result += ", corrects " + one.Corrects
		}
		result += ": " + one.Reason + "\n"
	}
	for _, c := range current.Corrections {
		result += fmt.Sprintf("  %s was %d on %s: %s\n", c.Number, c.Was, c.Board, c.Reason)
	}
	if try && strings.Contains(summaryOf(v, d), "Unchanged next") {
		result += "  unchanged: honest_read\n"
	}
	if !try {
		for _, file := range d.files {
			s.content[file.name] = &fstest.MapFile{Data: file.text}
		}
	}
	return result
}
