package models

import "github.com/unravel-ml/unravel/configs/config"

// JointVAE is the VAE with continuous and discrete codes of Dupont 2018. With the losses reconstruction, kl of the continuous
// spaces (weight gamma_z, capacity C_z) and kl of the categorical ones (gamma_c, C_c) it minimises that paper's equation 7, in
// nats per image,
//
//	-E_q(z,c|x)[log p(x|z,c)] + gamma_z |KL(q(z|x) || p(z)) - C_z| + gamma_c |KL(q(c|x) || p(c)) - C_c|
//
// with both divergences means over the batch before the absolute value. c is one choice for each number of Categorical, with
// probabilities alpha, softmaxes of linear maps of the features, and uniform priors; the decoder sees relaxed choices (Gumbel-
// softmax) and z. Capacities rise with the updates; C_c is at most sum log K, the largest divergence there is, so that
// beyond it the loss pulls alpha to one-hot choices.
//
// The code has a column for each choice first, 1 + the likeliest option, and then mu, [batch, len(Categorical) + Latent].
type JointVAE struct {
	VAE
}

// NewJointVAE returns the default settings, those of the paper's experiments on MNIST.
func NewJointVAE() *JointVAE {
	s := &JointVAE{VAE: *NewVAE()}
	s.Categorical = []int{10}
	return s
}

// Validate checks the settings.
func (s *JointVAE) Validate() error {
	if len(s.Categorical) == 0 {
		return config.Invalid("categorical", "want one number of options or more, such as [3, 2]; without discrete codes it is the model vae")
	}
	return s.VAE.Validate()
}
