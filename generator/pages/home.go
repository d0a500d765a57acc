package pages

import (
	"anteroom/edge/api"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/jsondoc"
	"anteroom/generator/contract"
)

// mintRows returns the members of the example of a receipt that its slip shows.
func (g *family) mintRows() []slipRow {
	mint := contract.WriteOperation(contract.Route("receipt"))
	return g.exampleRows(mint, "issued_by", "issued_at", receipt.MintFields[0].Name, "note", "payload_sha256")
}

// exampleRows returns members of the answer to an operation's example, but for those it lacks.
func (g *family) exampleRows(op *api.Operation, names ...string) (rows []slipRow) {
	answer, err := jsondoc.Parse(g.Example(op).Answer)
	if err != nil {
		g.Fail("the example of %s: %w", op.ID, err)
	}
	for _, name := range names {
		if v := answer.Get(name); v.Kind == jsondoc.String {
			rows = append(rows, slipRow{Name: name, Value: v.Text})
		}
	}
	return rows
}
