package output

// Where documents are.
const (
	ScoreboardPage     = "/scoreboard.html" // the page of the counts
	JobsPath           = "/jobs.json"
	AuditorsPath       = "/auditors.json"
	JobsSchemaPath     = "/schemas/jobs.json"
	AuditorsSchemaPath = "/schemas/auditors.json"
	JSONFeedPath       = "/feed.json"
	AtomFeedPath       = "/feed.atom"
	VectorsPath        = "/vectors/canon-v0.json"    // the conformance vectors
	SecurityTxtPath    = "/.well-known/security.txt" // RFC 9116, section 3
	ServerCardPath     = "/.well-known/mcp/server-card.json"
	AICatalogPath      = "/.well-known/ai-catalog.json"
	SkillName          = "onboarding-quest"
	SkillPath          = "/.well-known/agent-skills/" + SkillName + "/SKILL.md"
	SkillsIndexPath    = "/.well-known/agent-skills/index.json"
	CardPath           = "/card.png" // the picture for previews of links
)

// CalendarPath is where a calendar of business days is, in the format that the ending names.
func CalendarPath(id, ending string) string { return "/calendars/" + id + "." + ending }
