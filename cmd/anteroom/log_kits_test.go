//go:build full

package main

import "testing"

func TestOneVerdictOfKits(t *testing.T) {
	testVerdicts(t, map[string]string{"verify.py": "python3", "verify.mjs": "node"})
}
