// Package experiments describes trainings as values and runs them.
//
// A [Spec] is one training; [Registry.Load] reads it from YAML.
// [Spec.Pipeline] is its input pipeline, the figure of the README as code.
// [Run] trains it and writes a run directory; [Comparison] trains it with
// several strategies and seeds, and makes a [Table] of what they used up.
package experiments
