package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"firn.dev/internal/find/search"
)

// example is a question with the features of its hits, and which of them answer it.
type example struct {
	chat     int
	features []search.Features
	answers  []bool
}

// Parameters of the gradient ascent.
const (
	learnSteps   = 300
	learnRate    = 0.05
	learnPenalty = 0.001
)

// learnWeights learns the weights of the features from judged conversations. It prints the
// weights, and the recall on each conversation with the weights learned from the others.
func learnWeights(ctx context.Context, w io.Writer, chats []chat, homes []*chatHome) error {
	weights := search.QuestionWeights()
	for round := range 3 { // the hits depend on the weights
		var all []example
		for i, c := range chats {
			answers, err := homes[i].ask(ctx, c, &weights)
			if err != nil {
				return err
			}
			for _, a := range answers {
				all = append(all, exampleOf(a))
			}
		}
		weights = fit(all, -1)
		fmt.Fprintf(w, "round %d\n", round+1)
		for f, name := range search.FeatureNames {
			fmt.Fprintf(w, "  %-12s %7.2f\n", name, weights[f])
		}
		if err := leaveOut(ctx, w, chats, homes, all); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut measures each conversation with the weights learned from the others.
func leaveOut(ctx context.Context, w io.Writer, chats []chat, homes []*chatHome, all []example) error {
	m := &chatMarks{}
	for i, c := range chats {
		weights := fit(all, c.number)
		answers, err := homes[i].ask(ctx, c, &weights)
		if err != nil {
			return err
		}
		for _, a := range answers {
			m.add(homes[i], a)
		}
	}
	fmt.Fprintf(w, "left out: %s\n", m)
	return nil
}

func exampleOf(a asked) example {
	e := example{chat: a.chat}
	answers := make(map[string]bool)
	for _, id := range a.Evidence {
		answers[fmt.Sprintf("%d-%s", a.chat, id)] = true
	}
	for _, hit := range a.hits {
		e.features = append(e.features, hit.Features)
		e.answers = append(e.answers, answers[string(hit.Entry)])
	}
	return e
}

// fit maximizes the probability of the answers under a softmax over the hits of each
// question, without the examples of one conversation. The first weight is scaled to 1.
func fit(all []example, without int) search.Features {
	scale := deviations(all)
	var weights, momentum, variance search.Features
	for step := 1; step <= learnSteps; step++ {
		gradient, n := gradientOf(all, without, &weights, &scale)
		for f := range weights {
			g := gradient[f]/max(n, 1) - learnPenalty*weights[f]
			momentum[f] = 0.9*momentum[f] + 0.1*g
			variance[f] = 0.99*variance[f] + 0.01*g*g
			weights[f] += learnRate * momentum[f] / (math.Sqrt(variance[f]) + 1e-9) * min(1, 80/float64(step))
		}
	}
	for f := range weights {
		weights[f] /= scale[f]
	}
	if unit := weights[0]; unit > 0 {
		for f := range weights {
			weights[f] /= unit
		}
	}
	return weights
}

// gradientOf returns the gradient of the log-likelihood, and the number of examples.
func gradientOf(all []example, without int, weights, scale *search.Features) (gradient search.Features, n float64) {
	for _, e := range all {
		right := 0.0
		for _, yes := range e.answers {
			if yes {
				right++
			}
		}
		if right == 0 || e.chat == without {
			continue
		}
		n++
		p := make([]float64, len(e.features))
		highest, sum := math.Inf(-1), 0.0
		for i, x := range e.features {
			for f, v := range x {
				p[i] += weights[f] * v / scale[f]
			}
			highest = max(highest, p[i])
		}
		for i := range p {
			p[i] = math.Exp(p[i] - highest)
			sum += p[i]
		}
		for i, x := range e.features {
			c := -p[i] / sum
			if e.answers[i] {
				c += 1 / right
			}
			for f, v := range x {
				gradient[f] += c * v / scale[f]
			}
		}
	}
	return gradient, n
}

// deviations returns the standard deviation of each feature.
func deviations(all []example) (deviation search.Features) {
	var sum, squares search.Features
	n := 0.0
	for _, e := range all {
		for _, x := range e.features {
			for f, v := range x {
				sum[f] += v
				squares[f] += v * v
			}
			n++
		}
	}
	for f := range deviation {
		mean := sum[f] / max(n, 1)
		deviation[f] = math.Sqrt(max(squares[f]/max(n, 1)-mean*mean, 0)) + 1e-6
	}
	return deviation
}
