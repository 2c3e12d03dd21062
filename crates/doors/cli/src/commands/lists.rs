//! `wane presets`, `policies`, `manual` and `completions`.

use std::fmt::Write as _;

use wane_scenario::{
    PRESETS, PolicyInfo, json_schema, manual as key_manual, manual_of, manual_sections, policies as all_policies,
};

use crate::DONE;
use crate::args::{ManualArguments, PoliciesArguments, PresetsArguments};
use crate::complete;
use crate::output::{Failure, pretty, print, unknown};

pub(crate) fn presets(arguments: &PresetsArguments) -> Result<i32, Failure> {
    let text = match &arguments.name {
        None => PRESETS.iter().map(|preset| format!("{:<22} {}\n", preset.name, preset.summary())).collect(),
        Some(name) => {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let preset = PRESETS.iter().find(|preset| preset.name == name);
            let text = preset.ok_or_else(|| unknown("preset", name, &known))?.text;
            format!("{}{text}", how_to_copy(name, text))
        }
    };
    print(&text)?;
    Ok(DONE)
}

/// Says how to run a preset with times but no scheduler, since a scenario with these times must name one. Empty for other presets.
fn how_to_copy(name: &str, text: &str) -> String {
    let has = |line: &str| text.lines().any(|found| found.starts_with(line));
    if !has("[time]") || has("scheduler =") {
        return String::new();
    }
    format!(
        "# `wane run --preset {name} --set until.drive-writes=1` runs it. A copy of this text needs scheduler = \"event\" below [time], or no [time].\n"
    )
}

pub(crate) fn policies(arguments: &PoliciesArguments) -> Result<i32, Failure> {
    let all = all_policies();
    let text = match &arguments.name {
        _ if arguments.pages => pages(&all),
        None => all
            .iter()
            .map(|policy| format!("{:<14} {:<16} {}\n", policy.family.key(), policy.name, policy.summary))
            .collect(),
        Some(name) => {
            let found: Vec<&PolicyInfo> = all.iter().filter(|policy| policy.name == name).collect();
            if found.is_empty() {
                let names: Vec<&str> = all.iter().map(|policy| policy.name).collect();
                return Err(unknown("policy", name, &names));
            }
            found.into_iter().map(page).collect::<Vec<_>>().join("\n")
        }
    };
    print(&text)?;
    Ok(DONE)
}

fn pages(all: &[PolicyInfo]) -> String {
    let mut text = "# Policies\n\nGenerated from the policies' own files by `wane policies --pages`.\n".to_owned();
    for policy in all {
        text.push('\n');
        text.push_str(&page(policy));
    }
    text
}

fn page(policy: &PolicyInfo) -> String {
    let mut text = String::new();
    let key = policy.family.key();
    let _ = writeln!(text, "## `{}` of `ftl.{key}`: {}\n", policy.name, policy.summary);
    let _ = writeln!(text, "{}", policy.page.trim_end());
    let (before, within) = context(policy);
    let chosen = format!("{within}{key} = {}", policy.example);
    let _ = writeln!(text, "\n```toml\n{before}[ftl]\n{chosen}\n\n[until]\ndrive-writes = 10\n```");
    text
}

pub(crate) fn manual(arguments: &ManualArguments) -> Result<i32, Failure> {
    print(&match &arguments.section {
        Some(section) => manual_of(section).ok_or_else(|| unknown("section", section, &manual_sections()))?,
        None if arguments.schema => pretty(json_schema())?,
        None => key_manual(),
    })?;
    Ok(DONE)
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<i32, Failure> {
    print(&complete::script(shell).map_err(Failure::wrong)?)?;
    Ok(DONE)
}

/// Returns the lines that a policy's scenario needs before and in `[ftl]`, so that the policy has something to do: errors, time, dies.
fn context(policy: &PolicyInfo) -> (&'static str, &'static str) {
    let needs = policy.needs;
    match () {
        () if needs.errors => ("[drive]\nchip = \"tlc-72l-cvss\"\n\n", ""),
        () if needs.time => ("[time]\ndrive-writes-per-day = 1\n\n", ""),
        () if needs.dies => {
            ("[drive]\nchannels = 8\ndies-per-channel = 2\nspare-factor = \"20 %\"\n\n", "domain = \"die\"\n")
        }
        // The default drive has more blocks.
        () if needs.blocks_max.is_some() => ("[drive]\npreset = \"tiny\"\n\n", ""),
        () => ("", ""),
    }
}
