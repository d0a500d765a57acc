// Package bizday is the business-day calculator: arithmetic on civil dates by the rules of eleven
// calendars, from 2000 to 2050. It has no clock, and a computation has no effect.
package bizday

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// The members of every answer that describe its data.
const (
	// DataVersion is a date. It changes if, and only if, a closed day or its name does.
	DataVersion = "2026-08-20"
	Caveat      = "Laws change, and special holidays may be proclaimed after data_version. Check what matters against the authority."
)

// UnknownCalendar is the fault code of a calendar that does not exist.
const UnknownCalendar = "unknown_calendar"

// MaxSkipped is how many skipped holidays an answer names at most.
const MaxSkipped = 50

// Bytes of an answer of holidays: closingRoom for each, and answerRoom for the rest.
const closingRoom, answerRoom = 85, 1536

// The fields of a computation.
var (
	opField    = input.Field{Name: "op", Type: input.Name, Required: true, Values: opNames(), Example: `"add"`}
	calendarIn = input.Field{Name: "calendar", Type: input.List, Required: true, Values: IDs(), Example: `["us-nyse","gb-eng"]`}
	date       = input.Field{Name: "date", Type: input.Date, Example: `"2026-12-25"`}
	start      = input.Field{Name: "start", Type: input.Date, Example: `"2026-12-23"`}
	end        = input.Field{Name: "end", Type: input.Date, Example: `"2027-01-04"`}
	days       = input.Field{Name: "days", Type: input.Integer, Example: `2`}
	convention = input.Field{Name: "convention", Type: input.Name, Values: conventionNames(), Example: `"modified-following"`}
	yearField  = input.Field{Name: "year", Type: input.Integer, Min: FirstYear, Max: LastYear, Example: `2026`}

	Fields = []input.Field{opField, calendarIn, date, start, end, days, convention, yearField}
)

// Names of fields whose values have descriptions.
var (
	Calendar = calendarIn.Name
	Applied  = convention.Name
)

// Example is a body that asks for a computation.
const Example = `{"op":"add","calendar":"us-nyse,gb-eng","start":"2026-12-23","days":2}`

// BatchFields are the fields of several computations in one request.
var BatchFields = []input.Field{requests}

var requests = input.Field{
	Name: "requests", Type: input.Array, Required: true, Min: 1, Max: 50, Same: "computeBusinessDays",
	Example: `[{"op":"is","calendar":"de","date":"2026-12-25"},{"op":"next","calendar":"de","date":"2026-12-25"}]`,
}

// MaxYears is how many years of calendars the computations of one request may read together, each
// computation its own: as many as a single one can.
var MaxYears = (LastYear - FirstYear + 1) * len(calendars)

// ChosenBatch reports whether a body asks for several computations.
func ChosenBatch(in *input.Input) bool { return in.Has(requests.Name) }

// Chosen reports whether a query asks for a computation, by naming one of its fields.
func Chosen(in *input.Input) bool {
	return slices.ContainsFunc(Fields, func(f input.Field) bool { return in.Has(f.Name) })
}

// Computed is the result of a computation. It leaves out inputs that the operation does not use.
type Computed struct {
	Op           string    `json:"op" doc:"The operation."`
	Calendar     []string  `json:"calendar" doc:"The calendars. A business day is one in all of them."`
	Date         string    `json:"date,omitempty" format:"date" doc:"As sent."`
	Start        string    `json:"start,omitempty" format:"date" doc:"As sent."`
	End          string    `json:"end,omitempty" format:"date" doc:"As sent."`
	Days         int       `json:"days,omitempty" doc:"As sent."`
	Year         int       `json:"year,omitempty" doc:"As sent."`
	Convention   *string   `json:"convention" doc:"The convention that was applied; null where the operation applies none."`
	Result       []Holiday `json:"result" also:"boolean,integer,string" doc:"A boolean for is, an integer for count, the closed weekdays for holidays, a date for every other operation."`
	Inclusive    *int      `json:"inclusive,omitempty" doc:"For count: the count with both ends counted, negative where start is after end."`
	Skipped      []Holiday `json:"holidays_skipped" doc:"In order of date, the closed weekdays that the result passed over, for is those on the date itself. At most 50; none for holidays."`
	SkippedTotal int       `json:"holidays_skipped_total" doc:"How many there were in all."`
}

// Answer is the answer to a computation.
type Answer struct {
	Computed
	Basis `flat:"true"`
}

// BatchAnswer is the answer to several computations.
type BatchAnswer struct {
	Results []Computed `json:"results" doc:"The results, in the order of requests."`
	Basis   `flat:"true"`
}

// Basis are the members of an answer that follow its results.
type Basis struct {
	DataVersion string   `json:"data_version" format:"date" doc:"The version of the closed days, a date. It changes only if one of them, or its name, does."`
	Caveat      string   `json:"caveat" doc:"What the data does not know."`
	Ignored     []string `json:"ignored_fields" total:"true" doc:"What was sent and is not used by the operation."`
}

// Holiday is a weekday on which a calendar is closed.
type Holiday struct {
	Date     string `json:"date" format:"date" doc:"The date that is closed."`
	Name     string `json:"name" doc:"Why, in English; several reasons on one date are joined with and."`
	Calendar string `json:"calendar" doc:"The calendar. Joint calendars name a date once for each that is closed."`
}

// Operation is what can be computed. It reads the fields Takes besides op and calendar.
type Operation struct {
	Name, What string
	Takes      []*input.Field // in the order of the answer
}

// Reads are the names of the fields that an operation reads besides op and calendar.
func (o Operation) Reads() (names []string) {
	for _, f := range o.Takes {
		names = append(names, f.Name)
	}
	return names
}

func (o *Operation) prefix() string { return opField.Name + "=" + o.Name }

func (o *Operation) needs() string {
	names := o.Reads()
	if slices.Contains(names, yearField.Name) {
		return yearField.Name + ", or " + start.Name + " and " + end.Name
	}
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == convention.Name }), " and ")
}

// Operations are all operations.
var Operations = []Operation{
	{"is", "Is a date a business day?", []*input.Field{&date}},
	{"add", "Add business days to a date", []*input.Field{&start, &days, &convention}},
	{"count", "Count business days", []*input.Field{&start, &end}},
	{"next", "Find the next business day", []*input.Field{&date}},
	{"previous", "Find the previous business day", []*input.Field{&date}},
	{"roll", "Move a date to a business day", []*input.Field{&date, &convention}},
	{"holidays", "List holidays", []*input.Field{&start, &end, &yearField}},
}

// query is a computation: its inputs and its result.
type query struct {
	book
	op                     *Operation // nil where the field op is invalid
	date, start, end, days int
	year                   int // 0 where no year was sent
	convention             string

	result    string // JSON text; "" for the operation holidays
	inclusive int
	from, to  int // the span [from, to) of days that the result passes over, or lists
	closings  int // how many the span has; for the operation holidays alone
}

// Compute performs a computation and answers with its result.
func Compute(t *turn.Turn, in *input.Input) *turn.Response {
	var q query
	if q.ask(in); in.Total > 0 {
		return respond.Invalid(t, in)
	}
	return respond.OK(t, func(w *jsondoc.Writer) {
		q.write(w)
		writeBasis(t, w, in)
	})
}

// ComputeBatch performs several computations, or none if one is invalid.
func ComputeBatch(t *turn.Turn, in *input.Input) *turn.Response {
	sent := in.Member(requests.Name)
	if sent.Kind != jsondoc.Array {
		in.Add(requests.Name, input.WrongType, "must be an array, not "+sent.Kind.String())
	} else if n := len(sent.Items); n < requests.Min || n > requests.Max {
		in.Add(requests.Name, input.WrongCount, "must have "+strconv.Itoa(requests.Min)+" to "+strconv.Itoa(requests.Max)+" computations, and has "+strconv.Itoa(n))
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	queries, years := make([]query, len(sent.Items)), 0
	for i := range sent.Items {
		at := requests.Name + "[" + strconv.Itoa(i) + "]"
		if kind := sent.Items[i].Kind; kind != jsondoc.Object {
			in.Add(at, input.WrongType, "must be an object, not "+kind.String())
			continue
		}
		asked := in.Child(at, Fields, sent.Items[i].Members)
		queries[i].ask(asked)
		in.Merge(asked)
		if years += queries[i].read; years > MaxYears {
			in.Add(at, input.TooMany, "brings the years of calendars that are read to "+strconv.Itoa(years)+", and at most "+strconv.Itoa(MaxYears)+
				" are read for one request: send it alone")
			break
		}
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Begin("results", '[')
		for i := range queries {
			w.Open('{')
			queries[i].write(w)
			w.Close('}')
		}
		w.Close(']')
		writeBasis(t, w, in)
	})
}

func writeBasis(t *turn.Turn, w *jsondoc.Writer, in *input.Input) {
	w.Str("data_version", DataVersion)
	if !t.Embedded {
		w.Str("caveat", Caveat)
	}
	respond.WriteCapped(w, "ignored_fields", in.Ignored())
}

// ask reads the fields and finds the result. Every fault names the operation, if that is known.
func (q *query) ask(in *input.Input) {
	before := len(in.List)
	if q.readFields(in); in.Total == 0 {
		q.compute(in)
	}
	for i := range in.List[before:] {
		if f := &in.List[before+i]; q.op != nil && !strings.Contains(f.Detail, q.op.prefix()) {
			f.Detail = q.op.prefix() + ": " + f.Field + " " + f.Detail
		}
	}
}

// readFields reads the fields that the operation takes; all if the operation itself is invalid.
func (q *query) readFields(in *input.Input) {
	if name := in.Choice(&opField); name != "" {
		q.op = &Operations[slices.IndexFunc(Operations, func(o Operation) bool { return o.Name == name })]
	}
	q.readCalendars(in)
	q.date, q.start, q.end = q.readDate(in, &date), q.readDate(in, &start), q.readDate(in, &end)
	daysOK := false
	if q.takes(&days) {
		if q.days, daysOK = in.Number(&days); !in.Sent(&days) {
			q.require(in, &days)
		}
	}
	if q.takes(&convention) && !(daysOK && q.days != 0) {
		q.convention = in.Choice(&convention)
		if q.convention == "" {
			q.convention = Conventions[0].Name
		}
	}
	if q.takes(&yearField) {
		year, ok := in.Number(&yearField)
		switch {
		case ok && (year < FirstYear || year > LastYear):
			in.Add(yearField.Name, input.OutOfRange, "must be from "+strconv.Itoa(FirstYear)+" to "+strconv.Itoa(LastYear)+", and is "+strconv.Itoa(year))
		case ok:
			q.year = year
		}
		if q.op != nil && in.Sent(&yearField) && (in.Sent(&start) || in.Sent(&end)) {
			in.Add(yearField.Name, input.Conflict, q.op.prefix()+" needs "+q.op.needs()+"; both were sent")
		}
	}
}

func (q *query) takes(f *input.Field) bool { return q.op == nil || slices.Contains(q.op.Takes, f) }

func (q *query) require(in *input.Input, fields ...*input.Field) {
	if q.op == nil {
		return
	}
	found := fields[0].Name + " is missing or blank"
	if len(fields) > 1 {
		found = "none of them was sent"
	}
	in.Missing(q.op.prefix()+" needs "+q.op.needs()+"; "+found, fields...)
}

func (q *query) readDate(in *input.Input, f *input.Field) int {
	if !q.takes(f) {
		return 0
	}
	day, ok := in.Date(f)
	switch {
	case ok && (day < firstDay || day > lastDay):
		in.Add(f.Name, input.OutOfRange, "must be "+theRange+", and is "+civil.FormatDate(day))
	case in.Sent(f) || q.takes(&yearField) && in.Sent(&yearField):
	case q.takes(&yearField) && !in.Sent(&start) && !in.Sent(&end):
		if f == &start { // the one fault of the three
			q.require(in, &yearField, &start, &end)
		}
	default:
		q.require(in, f)
	}
	return day
}

var theRange = "from " + civil.FormatDate(firstDay) + " to " + civil.FormatDate(lastDay)

// readCalendars reads the calendars: a text with commas, or an array. One named twice counts once.
func (q *query) readCalendars(in *input.Input) {
	f := &calendarIn
	v := in.Member(f.Name)
	switch {
	case v.Kind == jsondoc.Array && len(v.Items) > 0:
		for i := range v.Items {
			at := f.Name + "[" + strconv.Itoa(i) + "]"
			if kind := v.Items[i].Kind; kind != jsondoc.String {
				in.Add(at, input.WrongType, "must be a string, not "+kind.String())
				continue
			}
			q.addCalendar(in, at, v.Items[i].Text)
		}
	case v.Kind == jsondoc.Array || !in.Sent(f):
		needed := "give one, or several"
		if q.op != nil {
			needed = q.op.prefix() + " needs one, or several"
		}
		in.Missing(f.Name+" is missing or blank: "+needed, f)
	case v.Kind != jsondoc.String:
		in.Add(f.Name, input.WrongType, "must be a string or an array of strings, not "+v.Kind.String())
	default:
		for id := range strings.SplitSeq(v.Text, ",") {
			q.addCalendar(in, f.Name, id)
		}
	}
}

func (q *query) addCalendar(in *input.Input, at, id string) {
	id = strings.TrimSpace(id)
	i := slices.Index(calendarIn.Values, id)
	if i < 0 {
		in.Add(at, UnknownCalendar, "must be one or several of "+strings.Join(calendarIn.Values, ", ")+", and is "+input.TruncateBytes(id))
	} else if !slices.Contains(q.calendars, i) {
		q.calendars = append(q.calendars, i)
	}
}

// compute finds the result. A result outside the range is a fault of the field that leads there.
func (q *query) compute(in *input.Input) {
	day, found, field := 0, true, &date
	origin := q.date
	switch q.op.Name {
	case "is":
		q.result, q.from, q.to = strconv.FormatBool(q.open(q.date)), q.date, q.date+1
		return
	case "count":
		first, last, sign := q.start, q.end, 1
		if first > last {
			first, last, sign = last, first, -1
		}
		n := q.count(first, last)
		q.result, q.from, q.to = strconv.Itoa(sign*n), first, last
		if q.open(last) {
			n++
		}
		q.inclusive = sign * n
		return
	case "holidays":
		if q.year != 0 {
			q.start, q.end = civil.DaysOf(q.year, 1, 1), civil.DaysOf(q.year, 12, 31)
		}
		if q.start > q.end {
			in.Add(end.Name, input.OutOfRange, "must not be before start, and is "+civil.FormatDate(q.end))
		}
		q.from, q.to = q.start, q.end+1
		q.each(q.from, q.to, func(closing) { q.closings++ })
		return
	case "add":
		origin, field = q.start, &days
		if day, found = q.add(origin, q.days); q.days == 0 {
			day, found = q.roll(origin, q.convention)
			field = &start
		}
	case "next":
		day, found = q.add(origin, 1)
	case "previous":
		day, found = q.add(origin, -1)
	case "roll":
		day, found = q.roll(origin, q.convention)
	}
	if !found {
		in.Add(field.Name, input.OutOfRange, "leads outside the range: business days are known "+theRange)
		return
	}
	q.result = `"` + civil.FormatDate(day) + `"`
	if !q.open(day) { // the convention is unadjusted: nothing was passed over
		return
	}
	// The result is a business day, so no closing is on it: the span may end before it or after it.
	if q.op.Name == "add" && q.days != 0 || q.op.Name == "next" || q.op.Name == "previous" {
		// These operations start beside the origin, and do not pass over it.
		q.from, q.to = min(origin+1, day), max(origin, day)
		return
	}
	q.from, q.to = min(origin, day), max(origin, day)+1
}

func (q *query) write(w *jsondoc.Writer) {
	w.Str("op", q.op.Name)
	w.Begin("calendar", '[')
	for _, c := range q.calendars {
		w.Item(calendars[c].id)
	}
	w.Close(']')
	for _, f := range q.op.Takes {
		switch {
		case f == &date:
			w.Str(f.Name, civil.FormatDate(q.date))
		case f == &start && q.year == 0:
			w.Str(f.Name, civil.FormatDate(q.start))
		case f == &end && q.year == 0:
			w.Str(f.Name, civil.FormatDate(q.end))
		case f == &days:
			w.Int(f.Name, int64(q.days))
		case f == &yearField && q.year != 0:
			w.Int(f.Name, int64(q.year))
		}
	}
	w.StrOrNull("convention", q.convention)
	skipped := MaxSkipped
	if q.op.Name == "holidays" {
		w.Buf = slices.Grow(w.Buf, answerRoom+closingRoom*q.closings) // once: on the edge, memory that a buffer has outgrown is not freed
		q.writeHolidays(w, "result", q.closings)
		q.to, skipped = q.from, 0
	} else {
		w.Raw("result", q.result)
	}
	if q.op.Name == "count" {
		w.Int("inclusive", int64(q.inclusive))
	}
	w.Int("holidays_skipped_total", int64(q.writeHolidays(w, "holidays_skipped", skipped)))
}

// writeHolidays writes at most so many closed weekdays of the span, and gives how many there are.
// Each calendar that is closed on a day counts by itself.
func (q *query) writeHolidays(w *jsondoc.Writer, name string, most int) (total int) {
	w.Begin(name, '[')
	reasons, last := "", closing{}
	flush := func() {
		if reasons == "" {
			return
		}
		if total++; total <= most {
			w.Open('{')
			w.Str("date", civil.FormatDate(last.day))
			w.Str("name", reasons)
			w.Str("calendar", calendars[last.calendar].id)
			w.Close('}')
		}
		reasons = ""
	}
	q.each(q.from, q.to, func(c closing) {
		if c.day != last.day || c.calendar != last.calendar {
			flush()
		} else {
			reasons += " and "
		}
		if total < most {
			reasons += c.name()
		} else {
			reasons += "-" // any text: it is counted and not written
		}
		last = c
	})
	flush()
	w.Close(']')
	return total
}

func (c *closing) name() string {
	name := calendars[c.calendar].rules[c.rule].name
	if c.substitute {
		name += " (substitute day)"
	}
	return name
}
