package generator

import "anteroom/generator/vectors"

// vectorsPath is where the conformance vectors are published.
const vectorsPath = "/vectors/canon-v0.json"

// vectors publishes the conformance vectors, which are the same for every content.
func (g *generation) vectors() { g.add(vectorsPath, vectors.CanonV0) }
