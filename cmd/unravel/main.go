// Command unravel trains and measures disentangled representations.
//
//	unravel train                       the quickstart: LSBD-VAE on the Square data set
//	unravel train lsbd-vae/arrow seed=3 an embedded experiment, with an override
//	unravel list losses                 what a config can name
//
// See package cli for where text goes and for the exit codes.
package main

import "github.com/unravel-ml/unravel/cli"

func main() { cli.Main() }
