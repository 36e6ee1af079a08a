//! Slurm: an array job, one task for each share of batches.

use std::fmt::Write as _;
use std::process::Command;

use wiremend_report::{shell_quoted, write_atomic};

use super::{Job, Submission, call};
use crate::error::Error;

/// Times that a task is queued again after its worker was killed.
const RESTARTS_MAX: u32 = 3;

pub(super) fn submit(job: &Job, submission: &Submission) -> Result<String, Error> {
    let path = job.folder.join("jobs").join(format!("{:06}.sh", job.number));
    write_atomic(&path, &script(job, submission)).map_err(|error| Error::Environment(error.to_string()))?;
    let missing = "submit on a machine with Slurm, or run `--shard I/N` there";
    let answer = call(Command::new("sbatch").arg("--parsable").arg(&path), missing)?;
    // `job` or `job;cluster` (sbatch(1)).
    Ok(answer.lines().last().unwrap_or_default().split(';').next().unwrap_or_default().to_owned())
}

/// The batch script. A task that is queued again continues where it was: after the loss of a node Slurm does so by
/// itself, after a kill of the worker (SIGKILL, status 137) the script asks for it. A signal of Slurm itself, as on
/// `scancel`, gives another status.
fn script(job: &Job, submission: &Submission) -> String {
    let Job { number, folder, name, tasks, minutes, memory_mib } = job;
    let folder = folder.display().to_string();
    let mut text = String::from("#!/bin/sh\n");
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let last = tasks - 1;
    let _ = write!(
        text,
        "#SBATCH --job-name={name}\n#SBATCH --array=0-{last}\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n\
         #SBATCH --time={minutes}\n#SBATCH --mem={memory_mib}M\n#SBATCH --requeue\n#SBATCH --open-mode=append\n"
    );
    let log = format!("{folder}/logs/slurm-%A-%a.log");
    // sbatch reads quoted words in these lines as a shell does.
    let _ = writeln!(text, "#SBATCH --output={}", shell_quoted(&log));
    for option in &submission.options {
        let _ = writeln!(text, "#SBATCH {option}");
    }
    let program = shell_quoted(&submission.program.display().to_string());
    let _ = write!(
        text,
        "{program} sweep work {} --job {number} --task \"$SLURM_ARRAY_TASK_ID\" --threads 1\n\
         code=$?\n\
         if [ \"$code\" -eq 137 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {RESTARTS_MAX} ]; then\n\
         \tscontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"\n\
         fi\n\
         exit \"$code\"\n",
        shell_quoted(&folder)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submit::Engine;

    #[test]
    fn the_script_has_limits_from_the_prediction_and_quotes_paths() {
        let job = Job {
            number: 2,
            folder: "/data/my study".into(),
            name: "loss & load".to_owned(),
            tasks: 5,
            minutes: 12,
            memory_mib: 300,
        };
        let submission = Submission {
            engine: Engine::Slurm,
            program: "/opt/wiremend".into(),
            tasks: None,
            options: vec!["--partition=long".to_owned()],
        };
        let text = script(&job, &submission);
        for line in [
            "#SBATCH --array=0-4",
            "#SBATCH --time=12",
            "#SBATCH --mem=300M",
            "#SBATCH --requeue",
            "#SBATCH --job-name=loss---load",
            "#SBATCH --output='/data/my study/logs/slurm-%A-%a.log'",
            "#SBATCH --partition=long",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(
            text.contains("sweep work '/data/my study' --job 2 --task \"$SLURM_ARRAY_TASK_ID\""),
            "{text}"
        );
    }
}
