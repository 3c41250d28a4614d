package metrics

// scaled is implemented by metrics that depend on the scale of the codes.
type scaled interface {
	scaled() bool // with these settings
}

func (s *SubCodeDeviation) scaled() bool     { return !s.Standardise && s.Project != ProjectLinear }
func (*Contraction) scaled() bool            { return true }
func (*Separation) scaled() bool             { return true }
func (*Logic) scaled() bool                  { return true }
func (*WassersteinCorrelation) scaled() bool { return true }
func (m *FactorVAE) scaled() bool            { return m.Prune > 0 }
func (m *SAP) scaled() bool                  { return m.Score != ScoreCorrelation }
func (m *BetaVAE) scaled() bool              { return !m.Standardise }
func (m *Downstream) scaled() bool           { return m.Predictor == LogisticCV }
func (m *Sampled) scaled() bool              { return ofScale(m.Of.Value) }
func (m *BestColumns) scaled() bool          { return ofScale(m.Of.Value) }
func (m *Projected) scaled() bool            { return m.Project != ProjectLinear && ofScale(m.Of.Value) }

// ofScale reports whether the value of a metric changes with the scale of the codes.
func ofScale(m Metric) bool {
	s, ok := m.(scaled)
	return ok && s.scaled()
}
