package train

// Check reports whether a config can be trained and measured, as far as that is known before it is: its data set, its model and its
// losses go together, and its metrics suit what they will get. Of a config whose hierarchy is to be learned it
// checks the autoencoder that this begins with. It writes nothing.
func Check(c Config) error {
	if _, ok := c.learns(); ok {
		initial, err := c.InitialConfig()
		if err != nil {
			return err
		}
		return Check(initial)
	}
	e, err := NewExperiment(c)
	if err != nil {
		return err
	}
	t, _, err := e.ready()
	if err != nil {
		return err
	}
	t.Close()
	return nil
}

// ready prepares the training and the measuring of an experiment. Parts that do not go together are a *ConfigError.
func (e *Experiment) ready() (*Trainer, *monitor, error) {
	if err := e.Sample().suits(e.Final(), e.Data.Len()); err != nil {
		return nil, nil, err
	}
	t, err := e.Trainer()
	if err != nil {
		return nil, nil, e.Config.untrainable(err)
	}
	w, err := newMonitor(e, t.epochImages())
	if err != nil {
		t.Close()
		return nil, nil, err
	}
	return t, w, nil
}
