//! `wane man`: a page for each command, made from its options and help texts.

use std::path::Path;

use clap::Command;

use crate::DONE;
use crate::args::ManArguments;
use crate::output::{Failure, Others, print, unknown, unwritable, write_text};

pub(crate) fn man(arguments: &ManArguments) -> Result<i32, Failure> {
    let mut root = crate::command().disable_help_subcommand(true);
    root.build();
    match &arguments.out {
        Some(folder) => write_all(&root, folder, Others::of(arguments.force)),
        None => print(&page(find(&root, &arguments.of)?)?.1),
    }?;
    Ok(DONE)
}

/// Finds the command of these words, such as `trace info`; the root without words.
fn find<'a>(root: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    words.iter().try_fold(root, |command, word| {
        let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        command.find_subcommand(word).ok_or_else(|| match &known[..] {
            [] => Failure::wrong(format!("`{}` has no commands of its own", bin_name(command))),
            known => unknown("command", word, known),
        })
    })
}

fn bin_name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

fn write_all(root: &Command, folder: &Path, others: Others) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let mut pages = Vec::new();
    collect(root, &mut pages)?;
    for (name, text) in &pages {
        write_text(&folder.join(name), others, text)?;
    }
    print(&format!("{}: {} pages\n", folder.display(), pages.len()))
}

fn collect(command: &Command, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    pages.push(page(command)?);
    command.get_subcommands().try_for_each(|command| collect(command, pages))
}

/// Returns a page's file name and its text.
fn page(command: &Command) -> Result<(String, String), Failure> {
    let version = format!("wane {}", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(command.clone()).source(version).manual("wane");
    let mut text = Vec::new();
    man.render_title(&mut text).map_err(Failure::wrong)?;
    man.render_name_section(&mut text).map_err(Failure::wrong)?;
    man.render_synopsis_section(&mut text).map_err(Failure::wrong)?;
    man.render_description_section(&mut text).map_err(Failure::wrong)?;
    man.render_options_section(&mut text).map_err(Failure::wrong)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text).map_err(Failure::wrong)?;
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let text =
        String::from_utf8_lossy(&text).into_owned() + &sections(&after.map(ToString::to_string).unwrap_or_default());
    Ok((man.get_filename(), text))
}

/// Turns the help text after the options into sections. A heading ends with a colon; indented lines stay as they are.
fn sections(help: &str) -> String {
    let mut text = String::new();
    let mut is_literal = false;
    let mut has_heading = false;
    for line in help.lines() {
        let indented = line.starts_with(' ');
        if indented != is_literal && !line.is_empty() {
            text.push_str(if indented { ".nf\n" } else { ".fi\n" });
            is_literal = indented;
        }
        match line.strip_suffix(':').filter(|_| !indented) {
            Some(heading) => {
                text.push_str(&format!(".SH \"{}\"\n", heading.to_uppercase()));
                has_heading = true;
            }
            None if line.is_empty() => text.push_str(".PP\n"),
            None => {
                if !has_heading {
                    text.push_str(".SH NOTES\n");
                    has_heading = true;
                }
                text.push_str(&format!("{}\n", roff(line)));
            }
        }
    }
    if is_literal { text + ".fi\n" } else { text }
}

/// Escapes the characters of a line that roff would interpret.
fn roff(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
