package pages

import (
	"anteroom/edge/jsondoc"
	"anteroom/generator/contract"
)

// mintRows returns the members that the front page shows of the content's receipt, or else of the
// example.
func (g *family) mintRows() (rows []slipRow) {
	shown := g.Site.Receipt
	if shown == nil {
		mint := contract.WriteOperation(contract.Route("receipt"))
		example, err := jsondoc.Parse(g.Example(mint).Answer)
		if err != nil {
			g.Fail("the example of %s: %w", mint.ID, err)
		}
		shown = &example
	}
	for _, name := range []string{"issued_by", "issued_at", "agent_name", "note", "payload_sha256"} {
		if text := shown.Get(name).Text; text != "" {
			rows = append(rows, slipRow{Name: name, Value: text})
		}
	}
	return rows
}
