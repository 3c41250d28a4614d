package rundir

// File is a file of a run's folder.
type File struct {
	Name string // path in the folder; * matches any name
	Doc  string // content
}

// Files lists all files that a run's folder can hold.
func Files() []File {
	const learned = "*/" // folders of stages before training, named after them
	return []File{
		{Config, "the resolved config, itself a valid config"},
		{ReportFile, "figures and results on one page"},
		{FiguresDir + "/*", "the figures"},
		{MetricsFile, "the metrics with all their parts"},
		{CodesFile, "codes of the images, float32 [n, d]"},
		{FactorsFile, "levels of the images' factors [n, k], of hierarchical data their values; NaN where one is not known"},
		{LevelsFile, "of hierarchical data the levels, int64 [n, k]"},
		{LogFile, "losses and metrics during training, an object for every epoch and every evaluation"},
		{"events.out.tfevents.*", "the same for TensorBoard"},
		{CheckpointFile, "parameters, moments and, as metadata, the state to resume from"},
		{CheckpointFile + ".*", "the checkpoints before"},
		{BestFile, "the checkpoint of the best evaluation, where train.keep.best is set"},
		{StateFile, "a copy of the checkpoint's state, to look at"},
		{RecordFile, "duration, machine, version of the code and the history of the training; written last"},
		{DataFile, "the files of the data set and of supervision that the run began with, by their hashes"},
		{TrialFile, "of a trial of a search: its number, the settings drawn for it, and the search"},
		{FitFile, "reconstruction and other numbers of the fit, of models that decode"},
		{learned + HierarchyFile, "of models with stages: the hierarchy that the stage has learned"},
		{learned + AssignmentsFile, "and the option of each image"},
		{learned + ComponentsFile, "and the component of each image"},
		{learned + PartsFile, "and its component before components were merged or dropped"},
		{learned + TimingsFile, "and the seconds of its steps"},
		{lockName, "locked while a process holds the run"},
		{lockName + ".claims", "who holds it, where the locks of a file system do not reach other machines"},
	}
}
