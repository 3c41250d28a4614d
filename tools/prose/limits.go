package main

import "regexp"

// longest is the maximum number of words of a sentence that does not count as long.
const longest = 30

// counts holds the counts of a group of sentences. Words and Hits count all sentences. Sentences and Long only count
// sentences of more than three words.
type counts struct {
	Words     int `json:"words"`
	Hits      int `json:"hits"`
	Sentences int `json:"sentences"`
	Long      int `json:"long"`
}

// target is the rate that every text may have: two hits per 1,000 words, fewer than in the standard library and gonum
// (2.0 to 3.0), and one long sentence in 20. Only groups above the target need a limit.
var target = counts{Words: 1000, Hits: 2, Sentences: 20, Long: 1}

var word = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

func count(list []sentence) counts {
	var c counts
	for _, s := range list {
		c.Words += len(word.FindAllStringIndex(s.text, -1))
		c.Hits += s.hits
		if s.length() > 3 {
			c.Sentences++
		}
		if s.length() > longest {
			c.Long++
		}
	}
	return c
}

func (c *counts) add(d counts) {
	c.Words += d.Words
	c.Hits += d.Hits
	c.Sentences += d.Sentences
	c.Long += d.Long
}

// below reports whether a/b is smaller than c/d.
func below(a, b, c, d int) bool { return a*d < c*b }

// allowed returns the maximum number of hits and of long sentences in a text: the number at the rate of the limit or of
// the target, rounded up. It is at least the limit's number, so deleting good sentences never breaks a limit. A short
// text may have the target's number.
func (c counts) allowed(limit counts) (hits, long int) {
	most := func(size, n, of, target, ofTarget int) int {
		rate, per := n, of
		if below(n, of, target, ofTarget) || of == 0 {
			rate, per = target, ofTarget
		}
		return max(n, target, (size*rate+per-1)/per)
	}
	return most(c.Words, limit.Hits, limit.Words, target.Hits, target.Words),
		most(c.Sentences, limit.Long, limit.Sentences, target.Long, target.Sentences)
}

// above reports whether a text has more hits or long sentences than a limit permits.
func (c counts) above(limit counts) bool {
	hits, long := c.allowed(limit)
	return c.Hits > hits || c.Long > long
}

// lowered returns a limit, lowered to the rates of a text where these are lower.
func (limit counts) lowered(c counts) counts {
	if below(c.Hits, c.Words, limit.Hits, limit.Words) {
		limit.Hits, limit.Words = c.Hits, c.Words
	}
	if below(c.Long, c.Sentences, limit.Long, limit.Sentences) {
		limit.Long, limit.Sentences = c.Long, c.Sentences
	}
	return limit
}
