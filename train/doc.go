// Package train runs a model over batches and keeps the books.
//
// [Run] is the loop: it feeds batches to a [Stepper] and counts what they
// hold. [Learner] is the Stepper that trains a Gorgonia model, and evaluates
// it. What else happens on the way, such as evaluation, reports and
// divergence, is an [Observer].
package train
