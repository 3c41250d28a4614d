// Kubecheck strictly decodes a Kubernetes Job from standard input with the published types: unknown and repeated keys
// are errors. It also checks the rules for an Indexed Job that the server has but the types do not.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = check(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubecheck:", err)
		os.Exit(1)
	}
}

// check decodes and checks a job.
func check(text []byte) error {
	var job batch.Job
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		return err
	}
	if job.APIVersion != "batch/v1" || job.Kind != "Job" {
		return fmt.Errorf("%s %s: want batch/v1 Job", job.APIVersion, job.Kind)
	}
	for _, problems := range [][]string{names(&job), spec(&job.Spec), pod(&job.Spec.Template.Spec)} {
		if problems != nil {
			return fmt.Errorf("%q", problems)
		}
	}
	return nil
}

// names checks names and labels. The server appends five letters to a generated name, and pods append their indices.
func names(job *batch.Job) (all []string) {
	longest := job.GenerateName + "abcde-" + fmt.Sprint(*job.Spec.Completions-1)
	all = append(all, validation.IsDNS1123Label(longest)...)
	for _, labels := range []map[string]string{job.Labels, job.Spec.Template.Labels} {
		for key, value := range labels {
			all = append(append(all, validation.IsQualifiedName(key)...), validation.IsValidLabelValue(value)...)
		}
	}
	return all
}

// spec checks the numbers and the failure policy of an Indexed Job.
func spec(s *batch.JobSpec) (all []string) {
	problem := func(wrong bool, text string) {
		if wrong {
			all = append(all, text)
		}
	}
	problem(s.CompletionMode == nil || *s.CompletionMode != batch.IndexedCompletion, "completionMode: want Indexed")
	problem(s.Completions == nil || *s.Completions < 1 || *s.Completions > 100000, "completions: want 1 to 100000")
	problem(s.Parallelism == nil || *s.Parallelism < 1 || *s.Parallelism > *s.Completions,
		"parallelism: want 1 to completions")
	problem(s.BackoffLimitPerIndex == nil || *s.BackoffLimitPerIndex < 0, "backoffLimitPerIndex: want 0 or more")
	problem(s.MaxFailedIndexes == nil || *s.MaxFailedIndexes < 0 || *s.MaxFailedIndexes > *s.Completions,
		"maxFailedIndexes: want at most completions")
	problem(s.PodFailurePolicy == nil || len(s.PodFailurePolicy.Rules) == 0, "podFailurePolicy: want rules")
	if all != nil {
		return all
	}
	ignored := false
	for i, r := range s.PodFailurePolicy.Rules {
		problem((r.OnExitCodes == nil) == (r.OnPodConditions == nil),
			fmt.Sprintf("rule %d: want exit codes or conditions", i))
		problem(!slices.Contains([]batch.PodFailurePolicyAction{batch.PodFailurePolicyActionIgnore,
			batch.PodFailurePolicyActionFailIndex,
			batch.PodFailurePolicyActionCount, batch.PodFailurePolicyActionFailJob}, r.Action), fmt.Sprintf("rule %d: action %s",
			i, r.Action))
		if c := r.OnExitCodes; c != nil {
			problem(!slices.IsSorted(c.Values) || len(c.Values) == 0 || c.Operator == batch.PodFailurePolicyOnExitCodesOpIn &&
				slices.Contains(c.Values, 0), fmt.Sprintf("rule %d: exit codes %d: want sorted ones, without 0", i, c.Values))
			problem(c.ContainerName == nil || *c.ContainerName != s.Template.Spec.Containers[0].Name,
				fmt.Sprintf("rule %d: no such container", i))
		}
		for _, c := range r.OnPodConditions {
			ignored = ignored || c.Type == core.DisruptionTarget && c.Status == core.ConditionTrue &&
				r.Action == batch.PodFailurePolicyActionIgnore
		}
	}
	problem(!ignored, "podFailurePolicy: want DisruptionTarget ignored")
	return all
}

// pod checks the pod template.
func pod(p *core.PodSpec) (all []string) {
	if p.RestartPolicy != core.RestartPolicyNever {
		all = append(all, "restartPolicy: want Never beside a policy of failures")
	}
	if len(p.Containers) != 1 || len(p.Volumes) != 1 {
		return append(all, "want one container and one volume")
	}
	c := p.Containers[0]
	all = append(all, validation.IsDNS1123Label(c.Name)...)
	for _, e := range c.Env {
		all = append(all, validation.IsEnvVarName(e.Name)...)
	}
	for _, name := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
		limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
		if limit.Cmp(request) != 0 || limit.Sign() <= 0 {
			all = append(all, fmt.Sprintf("%s: requests and limits are %v and %v", name, request.String(), limit.String()))
		}
	}
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].Name != p.Volumes[0].Name ||
		p.Volumes[0].PersistentVolumeClaim == nil {
		all = append(all, "the container lacks the volume")
	}
	return all
}
