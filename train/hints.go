package train

// hints are for keys that other programs have.
var hints = map[string]string{
	"device": onlyCPU, "gpu": onlyCPU, "cuda": onlyCPU, "use_gpu": onlyCPU,
	"lr": learningRate, "learning_rate": learningRate,
	"batch_size": "did you mean \"train.batch\"?", "num_epochs": "did you mean \"train.epochs\"?", "max_epochs": "did you mean \"train.epochs\"?",
	"pretrained": start, "weights": start, "load": start, "finetune": start, "frozen": "did you mean \"freeze\"?",
	"beta": "the beta of a beta-VAE is the weight of the loss kl: losses.1.kl.weight=4, if it is the second loss",
}

const (
	onlyCPU      = "Unravel computes on the CPU only; train.threads is the number of threads"
	start        = "a model starts from another run or a file by init: {run: DIR, only: [encoder/*]}"
	learningRate = "the learning rate is the optimiser's: train.optimizer.adam.lr"
)

// Hint explains some keys of other programs that a config does not have; empty if it does not know the key.
func (c *Config) Hint(key string) string { return hints[key] }

// Hint is that of the config.
func (s *Settings) Hint(key string) string { return hints[key] }
