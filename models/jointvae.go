package models

import "github.com/unravel-ml/unravel/configs/config"

// JointVAE is the VAE with continuous and discrete codes of Dupont 2018. Its losses are reconstruction, kl of the
// continuous spaces (weight gamma_z, capacity C_z) and kl of the categorical spaces (gamma_c, C_c). It minimises the
// paper's equation 7, in nats per image,
//
//	-E_q(z,c|x)[log p(x|z,c)] + gamma_z |KL(q(z|x) || p(z)) - C_z| + gamma_c |KL(q(c|x) || p(c)) - C_c|
//
// Both divergences are averaged over the batch before the absolute value is taken. c has one categorical variable for
// each number in Categorical. Its probabilities alpha are a softmax of linear maps of the features, and its prior is
// uniform. The decoder gets relaxed samples (Gumbel-softmax) and z. The capacities increase during training. C_c stops
// at sum log K, the largest possible divergence. At this value the loss pulls alpha towards one-hot vectors.
//
// The code has a column for each categorical variable, 1 + the most probable option, followed by mu: [batch,
// len(Categorical) + Latent].
type JointVAE struct {
	VAE
}

// newJointVAE returns the default settings: the settings of the paper's MNIST experiments.
func newJointVAE() *JointVAE {
	s := &JointVAE{VAE: *NewVAE()}
	s.Categorical = []int{10}
	return s
}

func (s *JointVAE) Validate() error {
	if len(s.Categorical) == 0 {
		return config.Invalid("categorical", "want one number of options or more, such as [3, 2]; without discrete codes it is the model vae")
	}
	return s.VAE.Validate()
}
