package page

import _ "embed"

// ReceiptsScript is the script of Verifier.
//
//go:embed receipts.js
var ReceiptsScript []byte
