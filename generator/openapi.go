package generator

func (g *generation) openAPI() {}
