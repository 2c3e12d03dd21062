//! Shell completion. The shell asks the command itself, so that it offers exactly what the command takes, down to the keys of a scenario.
//!
//! A shell's script calls the command with `WANE_COMPLETE` in its environment, and the engine of `clap_complete` answers.
//! Bash splits words at `=` and `:`, which occur inside keys; its script here joins them again. The other shells' scripts
//! are clap's.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use clap_complete::CompletionCandidate;
use clap_complete::env::{self, CompleteEnv, EnvCompleter, Shells};
use wane_claims::claims;
use wane_nand::rber::CHIPS;
use wane_scenario::{PRESETS, Pattern, keys, policies as all_policies};
use wane_smart::LogId;
use wane_workload::lsm::Operations;
use wane_workload::standin;
use wane_workload::trace::Format;

/// Environment variable that a shell's script sets.
const VARIABLE: &str = "WANE_COMPLETE";

/// The command's name in a shell.
const NAME: &str = "wane";

const SHELLS: Shells<'static> = Shells(&[&Bash, &env::Elvish, &env::Fish, &env::Powershell, &env::Zsh]);

/// Answers a shell that asks how a line may continue; returns whether one did.
///
/// # Errors
/// The shell is unknown, or has gone.
pub(crate) fn answer(arguments: &[OsString]) -> clap::error::Result<bool> {
    let folder = std::env::current_dir().ok();
    CompleteEnv::with_factory(crate::command)
        .var(VARIABLE)
        .shells(SHELLS)
        .try_complete(arguments.iter().cloned(), folder.as_deref())
}

/// Returns the script that a shell reads to complete the command.
pub(crate) fn script(shell: clap_complete::Shell) -> io::Result<String> {
    let shell = shell.to_string();
    let completer = SHELLS.completer(&shell).ok_or_else(|| io::Error::other(format!("no completions for {shell}")))?;
    let mut text = Vec::new();
    completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn named(name: &str, about: &str) -> CompletionCandidate {
    // The first sentence: shells have a line for it.
    let about = about.split(". ").next().unwrap_or_default().trim_end_matches('.');
    CompletionCandidate::new(name).help((!about.is_empty()).then(|| about.to_owned().into()))
}

pub(crate) fn presets() -> Vec<CompletionCandidate> {
    PRESETS.iter().map(|preset| named(preset.name, &preset.summary())).collect()
}

pub(crate) fn policies() -> Vec<CompletionCandidate> {
    let mut names: Vec<CompletionCandidate> = Vec::new();
    for policy in all_policies() {
        if names.iter().all(|told| told.get_value() != policy.name) {
            names.push(named(policy.name, &format!("{}: {}", policy.family.key(), policy.summary)));
        }
    }
    names
}

pub(crate) fn standins() -> Vec<CompletionCandidate> {
    let all = standin::names().map(CompletionCandidate::new);
    all.chain([named("list", "list the stand-ins")]).collect()
}

/// Offers the names of workloads that age a drive.
pub(crate) fn workloads() -> Vec<CompletionCandidate> {
    let names = Pattern::NAMES.iter().copied().chain(standin::names()).chain(Operations::YCSB.iter().copied());
    names.map(CompletionCandidate::new).collect()
}

/// Offers the log pages of a drive's health.
pub(crate) fn log_pages() -> Vec<CompletionCandidate> {
    LogId::ALL.iter().map(|id| named(id.name(), id.title())).collect()
}

pub(crate) fn formats() -> Vec<CompletionCandidate> {
    Format::ALL.iter().map(|format| named(format.name(), format.summary())).collect()
}

pub(crate) fn chips() -> Vec<CompletionCandidate> {
    CHIPS.iter().map(|chip| named(chip.name, chip.source)).collect()
}

pub(crate) fn claim_ids() -> Vec<CompletionCandidate> {
    claims().iter().map(|claim| CompletionCandidate::new(claim.id)).collect()
}

pub(crate) fn sections() -> Vec<CompletionCandidate> {
    wane_scenario::manual_sections().into_iter().map(CompletionCandidate::new).collect()
}

pub(crate) fn commands() -> Vec<CompletionCandidate> {
    crate::command().get_subcommands().map(|command| CompletionCandidate::new(command.get_name())).collect()
}

/// Offers what `--set` takes: a key, then one of its words.
pub(crate) fn assignment(current: &OsStr) -> Vec<CompletionCandidate> {
    assignments(current, |written| ("", written))
}

/// Offers what `--sweep` takes: as for `--set`, with further words after commas.
pub(crate) fn sweep(current: &OsStr) -> Vec<CompletionCandidate> {
    assignments(current, |written| written.rfind(',').map_or(("", written), |comma| written.split_at(comma + 1)))
}

/// Offers keys and their words. `split` separates the complete values from the one at the cursor.
fn assignments(current: &OsStr, split: impl Fn(&str) -> (&str, &str)) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let Some((path, written)) = current.split_once('=') else {
        let fitting = keys().into_iter().filter(|key| key.path.starts_with(current));
        return fitting.map(|key| named(&format!("{}=", key.path), &key.about)).collect();
    };
    let (complete, begun) = split(written);
    let key = keys().into_iter().find(|key| key.path == path);
    let words = key.into_iter().flat_map(|key| key.words).filter(|word| word.starts_with(begun));
    words.map(|word| CompletionCandidate::new(format!("{path}={complete}{word}"))).collect()
}

/// Bash, whose words end at `=` and `:`.
struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        write!(
            buf,
            r#"_wane() {{
    local IFS=$'\013' i n=-1 word head= glued=
    local -a words=()
    # Words come split at = and :. What stands beside one of them belongs to the word before; head is what bash takes
    # for words that are complete.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        if [[ $n -gt 0 && $word == [=:]* ]]; then
            words[n]+=$word head=${{words[n]}} glued=1
        elif [[ -n $glued && -n $word ]]; then
            head=${{words[n]}} words[n]+=$word glued=
        else
            n=$((n + 1)) words[n]=$word head= glued=
        fi
    done
    COMPREPLY=($(_CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$n {variable}=bash {completer} -- "${{words[@]}}" 2>/dev/null))
    COMPREPLY=("${{COMPREPLY[@]#"$head"}}")
    if [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}}
complete -o bashdefault -F _wane {bin}
"#
        )
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        arguments: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        env::Bash.write_complete(command, arguments, folder, buf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(candidates: &[CompletionCandidate]) -> Vec<String> {
        candidates.iter().map(|candidate| candidate.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_key_is_offered_first_and_its_words_behind_the_sign() {
        let set = |text: &str| values(&assignment(OsStr::new(text)));
        assert_eq!(set("ftl.gc.pol"), ["ftl.gc.policy="]);
        assert_eq!(set("ftl.gc.policy=gr"), ["ftl.gc.policy=greedy"]);
        assert_eq!(set("until.end-of-life="), ["until.end-of-life=true", "until.end-of-life=false"]);
        assert_eq!(set("ftl.gcc=gr"), [""; 0]);
        let sweep = |text: &str| values(&sweep(OsStr::new(text)));
        assert_eq!(sweep("ftl.gc=greedy,co"), ["ftl.gc=greedy,cost-benefit"]);
        assert_eq!(set("ftl.gc=greedy,co"), [""; 0], "one value");
    }

    #[test]
    fn every_list_of_names_has_something_to_offer() {
        let has = |list: &[CompletionCandidate], name: &str| assert!(values(list).iter().any(|one| one == name));
        has(&presets(), "tiny");
        has(&policies(), "pwl");
        has(&standins(), "rad-be");
        has(&formats(), "blkparse");
        has(&chips(), "tlc-72l-2018");
        has(&claim_ids(), "WL1");
        has(&commands(), "run");
        let names = values(&policies());
        assert_eq!(names.iter().filter(|name| *name == "fifo").count(), 1, "a name of two families is offered once");
    }
}
