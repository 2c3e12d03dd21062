//! `wane actor`: serves drives that encode, and sends them requests.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use wane_actor::store::Medium;
use wane_actor::{
    ActorError, Client, Leave, Left, Limits, PutOptions, ServerConfig, Simulated, Standing, Status, WearOfCode,
    WearOptions,
};
use wane_scenario::{Scenario, Sources};
use wane_units::{Bytes, excerpt, excerpt_path};

use crate::args::actor::{
    ActorArguments, ActorCommand, ClusterArguments, GetArguments, JoinArguments, LeaveArguments, ObjectArguments,
    PutArguments, ServeArguments, WearArguments,
};
use crate::output::{Failure, Others, check_writable, line, print, print_json, read_text, write_file};
use crate::progress::{end_at_once, end_with_stdin, stop_flag};
use crate::{DIFFERS, DONE};

/// How long a put waits for the first drive, and then for enough drives.
const PUT_WAIT: Duration = Duration::from_secs(5);

/// The variable that names drives of the cluster.
const AT: &str = "WANE_ACTOR_AT";

impl From<ActorError> for Failure {
    fn from(error: ActorError) -> Self {
        Self::wrong(error)
    }
}

pub(crate) fn actor(arguments: &ActorArguments) -> Result<i32, Failure> {
    if !matches!(arguments.command, ActorCommand::Serve(_)) {
        end_at_once();
    }
    match &arguments.command {
        ActorCommand::Serve(arguments) => serve(arguments),
        ActorCommand::Put(arguments) => put(arguments),
        ActorCommand::Get(arguments) => get(arguments),
        ActorCommand::Delete(arguments) => delete(arguments),
        ActorCommand::List(arguments) => list(arguments),
        ActorCommand::Repair(arguments) => repair(arguments),
        ActorCommand::Scrub(arguments) => scrub(arguments),
        ActorCommand::Status(arguments) => status(arguments),
        ActorCommand::Join(arguments) => join(arguments),
        ActorCommand::Leave(arguments) => leave(arguments),
        ActorCommand::Wear(arguments) => wear(arguments),
    }
}

fn serve(arguments: &ServeArguments) -> Result<i32, Failure> {
    let limits = Limits { processors: arguments.processors, memory: arguments.memory.map(|memory| memory.0) };
    let stop = stop_flag();
    let medium = match &arguments.drive {
        Some(drive) => Some(Box::new(Simulated::open(drive, &arguments.folder)?) as Box<dyn Medium>),
        None => None,
    };
    if arguments.until_stdin_ends {
        end_with_stdin(&stop);
    }
    // Dropped after the server has ended: until then the process stays in its group.
    let _limited = limits.enter()?;
    let config = ServerConfig {
        folder: arguments.folder.clone(),
        listen: arguments.listen.clone(),
        announce: arguments.announce.clone(),
        id: arguments.id,
        join: arguments.join.clone(),
        points: arguments.points,
        secret: arguments.secret_file.clone(),
        upkeep_seconds: arguments.upkeep,
        medium,
        limits,
    };
    let tell = |status: &Status, strangers: &[String]| {
        let text = match serde_json::to_string(status) {
            Ok(facts) if arguments.json => facts + "\n",
            _ => {
                let (id, address, drives) = (status.id, &status.address, status.members.on_ring().count());
                format!("drive {id} at {address}, one of {drives}, keeps {} shares\n", status.shares)
            }
        };
        // The process that started it may not read stdout.
        let _ = print(&text);
        if let Some(why) = &status.unsaved {
            crate::output::tell(&format!("wane: the drive serves what it has: {why}"));
        }
        for stranger in strangers {
            crate::output::tell(&format!("wane: a drive of the list has another secret than this one: {stranger}"));
        }
    };
    wane_actor::serve(config, &stop, tell)?;
    Ok(DONE)
}

fn addresses(cluster: &ClusterArguments) -> Result<Vec<String>, Failure> {
    let named = std::env::var(AT).unwrap_or_default();
    let given = if cluster.at.is_empty() {
        named.split(',').filter(|address| !address.is_empty()).map(str::to_owned).collect()
    } else {
        cluster.at.clone()
    };
    if given.is_empty() {
        return Err(Failure::wrong(format!(
            "which cluster? --at or {AT} names the address of one of its drives, such as 127.0.0.1:4801"
        )));
    }
    Ok(given)
}

fn connect(cluster: &ClusterArguments) -> Result<Client, Failure> {
    Ok(Client::connect(&addresses(cluster)?, cluster.secret_file.as_deref())?)
}

/// Connects, and waits a little for drives that do not listen yet or have not joined.
fn connect_in_time(cluster: &ClusterArguments, drives: u16) -> Result<Client, Failure> {
    let client = Client::connect_within(&addresses(cluster)?, cluster.secret_file.as_deref(), PUT_WAIT)?;
    client.await_drives(drives, PUT_WAIT);
    Ok(client)
}

fn put(arguments: &PutArguments) -> Result<i32, Failure> {
    let PutArguments { file, name, code, cell, quorum, cluster } = arguments;
    let is_stdin = file == Path::new("-");
    if file.is_dir() {
        return Err(Failure::wrong(format!("{} is a folder: files are put, one by one", excerpt_path(file))));
    }
    let name = match (name, file.file_name()) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) if !is_stdin => name.to_string_lossy().into_owned(),
        _ => return Err(Failure::wrong("an object from stdin needs a name: --name NAME")),
    };
    let unreadable = |error: std::io::Error| Failure::wrong(format!("{}: cannot be read: {error}", excerpt_path(file)));
    let mut input: Box<dyn Read> = if is_stdin {
        Box::new(std::io::stdin())
    } else {
        Box::new(BufReader::new(File::open(file).map_err(unreadable)?))
    };
    let cell =
        u32::try_from(cell.0).map_err(|_| Failure::wrong(format!("--cell {cell}: at most 8 MiB are allowed")))?;
    let options = PutOptions { code: *code, cell, quorum: *quorum };
    let done = connect_in_time(cluster, code.shares())?.put(&name, &mut input, options)?;
    let (shares, missing) = (done.placed.len(), done.missing.len());
    let rest =
        if missing == 0 { String::new() } else { format!("; {missing} will be made when their drives are back") };
    let facts = json!({
        "name": name, "version": done.version.to_string(), "bytes": done.size, "sha256": done.sha256, "code": code.to_string(),
        "drives": done.placed, "missing": done.missing,
    });
    let words = format!("{}: {} in {} of {shares} shares{rest}\n", excerpt(&name), Bytes(done.size), shares - missing);
    tell(cluster, &facts, &words)
}

fn get(arguments: &GetArguments) -> Result<i32, Failure> {
    let GetArguments { name, out, force, cluster } = arguments;
    if out == Path::new("-") {
        connect(cluster)?.get(name, &mut std::io::stdout().lock())?;
        return Ok(DONE);
    }
    let others = Others::of_bytes(*force);
    check_writable(out, others)?;
    let client = connect(cluster)?;
    let got = write_file(out, others, |file: &mut dyn Write| Ok(client.get(name, file)?))?;
    let decoded = match got.decoded {
        0 => String::new(),
        decoded => format!(", {} of them decoded by the drives", Bytes(decoded)),
    };
    tell(
        cluster,
        &json!({ "name": name, "bytes": got.size, "bytes_decoded": got.decoded }),
        &format!("{}: {}{decoded}\n", excerpt(name), Bytes(got.size)),
    )
}

fn delete(arguments: &ObjectArguments) -> Result<i32, Failure> {
    connect(&arguments.cluster)?.delete(&arguments.name)?;
    tell(
        &arguments.cluster,
        &json!({ "name": arguments.name, "did": "delete" }),
        &format!("{}: deleted\n", excerpt(&arguments.name)),
    )
}

/// Prints what was done, as JSON or in words.
fn tell(cluster: &ClusterArguments, facts: &Value, words: &str) -> Result<i32, Failure> {
    if cluster.json {
        print_json(facts)?;
    } else {
        print(words)?;
    }
    Ok(DONE)
}

fn list(cluster: &ClusterArguments) -> Result<i32, Failure> {
    let names = connect(cluster)?.list()?;
    let words: String = names.iter().map(|name| printable(name) + "\n").collect();
    tell(cluster, &json!(names), &words)
}

/// Returns a whole name with control characters escaped, as `excerpt` escapes them.
fn printable(name: &str) -> String {
    name.chars().map(|letter| excerpt(letter.encode_utf8(&mut [0; 4])).to_string()).collect()
}

fn repair(arguments: &ObjectArguments) -> Result<i32, Failure> {
    let repaired = connect(&arguments.cluster)?.repair(&arguments.name)?;
    let numbers: Vec<String> = repaired.shares.iter().map(u16::to_string).collect();
    let words = match numbers.len() {
        0 => "nothing was missing".to_owned(),
        1 => format!("share {} made anew", numbers[0]),
        _ => format!("shares {} made anew", numbers.join(", ")),
    };
    let unmade: String = repaired.unmade.iter().map(|why| format!("; {why}")).collect();
    tell(
        &arguments.cluster,
        &json!({ "name": arguments.name, "shares": repaired.shares, "unmade": repaired.unmade }),
        &format!("{}: {words}{unmade}\n", excerpt(&arguments.name)),
    )
}

fn scrub(cluster: &ClusterArguments) -> Result<i32, Failure> {
    let (mut text, mut facts, mut is_whole) = (String::new(), Vec::new(), true);
    for (drive, result) in connect(cluster)?.scrub() {
        let told = match &result {
            Ok(one) => {
                is_whole &= one.unrepaired.is_empty();
                let unrepaired: String = one.unrepaired.iter().map(|why| format!("; {why}")).collect();
                let gone = if one.gone == 0 { String::new() } else { format!(" {} gone,", one.gone) };
                format!(
                    "{} shares read and whole, {} rotten,{gone} {} made anew{unrepaired}",
                    one.shares, one.rotten, one.repaired
                )
            }
            Err(error) => {
                is_whole = false;
                error.to_string()
            }
        };
        line(&mut text, &drive.short(), &told);
        facts.push(match result {
            Ok(one) => json!({ "drive": drive, "scrubbed": one }),
            Err(error) => json!({ "drive": drive, "error": error.to_string() }),
        });
    }
    tell(cluster, &json!(facts), &text)?;
    Ok(if is_whole { DONE } else { DIFFERS })
}

fn status(cluster: &ClusterArguments) -> Result<i32, Failure> {
    let client = connect(cluster)?;
    let (mut text, mut facts) = (String::new(), Vec::new());
    for (drive, result) in client.statuses() {
        match result {
            Ok(status) => {
                line(&mut text, &drive.short(), &in_words(&status));
                facts.push(serde_json::to_value(&status).map_err(Failure::wrong)?);
            }
            Err(error) => {
                line(&mut text, &drive.short(), &error.to_string());
                facts.push(json!({ "id": drive, "error": error.to_string() }));
            }
        }
    }
    tell(cluster, &json!(facts), &text)
}

fn in_words(status: &Status) -> String {
    let moved = &status.moved;
    let mut words = format!("{}, list {}, {} shares", status.address, status.version, status.shares);
    for (count, what) in [
        (moved.cells_in, "from clients"),
        (moved.cells_out, "to clients"),
        (moved.sources_in, "fetched to code"),
        (moved.made_out, "made for others"),
        (moved.decoded_out, "decoded"),
        (moved.handed_in, "handed over to it"),
    ] {
        if count > 0 {
            words += &format!(", {} {what}", Bytes(count));
        }
    }
    if !status.owed.is_empty() {
        words += &format!(", {} objects to repair", status.owed.len());
    }
    if let Some(why) = &status.unsaved {
        words += &format!(", {why}");
    }
    match status.members.drives.get(&status.id).map(|member| member.standing) {
        Some(Standing::Leaving) => {
            words += &format!(", leaving; `wane actor join {}` has it stay", status.address);
        }
        Some(Standing::Gone) => words += ", gone from the list",
        _ if status.is_moving && status.shares + status.deleted > 0 => words += ", shares on the move",
        _ => {}
    }
    words
}

fn join(arguments: &JoinArguments) -> Result<i32, Failure> {
    let wait = (arguments.wait > 0).then(|| Duration::from_secs(arguments.wait));
    let status = connect(&arguments.cluster)?.join(&arguments.address, wait)?;
    let drives = status.members.on_ring().count();
    let words = format!("drive {} at {} joined, one of {drives} now\n", status.id, status.address);
    tell(&arguments.cluster, &json!({ "id": status.id, "address": status.address, "drives": drives }), &words)
}

fn leave(arguments: &LeaveArguments) -> Result<i32, Failure> {
    let client = connect(&arguments.cluster)?;
    let how = match (arguments.lost, arguments.force) {
        (false, _) => Leave::InOrder,
        (true, false) => Leave::Lost,
        (true, true) => Leave::LostWhateverItSays,
    };
    let Left { id, drives, widest } = client.leave(&arguments.drive, how, Duration::from_secs(arguments.wait))?;
    let lacking = usize::from(widest).saturating_sub(drives);
    let rest = match (arguments.lost, lacking) {
        (false, _) => " with nothing left on it".to_owned(),
        (true, 0) => "; `wane actor scrub` makes its shares anew".to_owned(),
        (true, _) => format!(
            "; objects of {widest} shares can be read, but neither put nor repaired until {} joined",
            if lacking == 1 { "another drive has".to_owned() } else { format!("{lacking} other drives have") }
        ),
    };
    tell(
        &arguments.cluster,
        &json!({ "id": id, "drives": drives, "drives_needed": widest }),
        &format!("drive {id} is gone{rest}; {drives} are left\n"),
    )
}

/// Returns warnings on the table of `wear`, as sentences.
fn warnings(rows: &[WearOfCode], drives: u16) -> String {
    let mut text = String::new();
    if rows.iter().any(|row| row.life_beside(&rows[0]).is_none()) {
        text += "Nothing was erased where life is -: give more --writes.\n";
    } else if rows.iter().any(WearOfCode::is_short) {
        text += "Less than one erase of each block was counted, so life is rough: give more --writes.\n";
    }
    let cold = rows.iter().map(|row| row.cold_drives).max().unwrap_or(0);
    if cold > 0 {
        text += &format!(
            "Up to {cold} of {drives} drives were not written over twice before counting began, as too few objects reach them: \
             life is not a steady state's; more or smaller objects (--filled, --object) spread over all drives.\n"
        );
    }
    text
}

fn wear(arguments: &WearArguments) -> Result<i32, Failure> {
    if arguments.scenario.is_none() && arguments.preset.is_none() && arguments.set.is_empty() {
        let sentence = "wear needs a drive, such as `wane actor wear --preset tiny`; `wane presets` lists the drives to start from";
        return Err(Failure::wrong(sentence));
    }
    let file = arguments.scenario.as_deref().map(read_text).transpose()?;
    // Only the drive is used, but a scenario must say when a run ends.
    let set: Vec<String> =
        std::iter::once("until.drive-writes=1".to_owned()).chain(arguments.set.iter().cloned()).collect();
    let sources = Sources {
        preset: arguments.preset.as_deref(),
        file: file.as_ref().map(|(name, text)| (name.as_str(), text.as_str())),
        set: &set,
    };
    let scenario = Scenario::resolve(&sources)?;
    let options = WearOptions {
        drives: arguments.drives,
        object: arguments.object.0,
        cell: wane_actor::layout::CELL_DEFAULT,
        filled: arguments.filled.get(),
        writes: arguments.writes,
        seed: arguments.seed,
    };
    let mut rows: Vec<WearOfCode> = Vec::new();
    for code in &arguments.code {
        rows.push(wane_actor::wear(&scenario, *code, &options)?);
    }
    // Life is what users can write until blocks have a given number of erases, relative to the first code's, which is 1.
    let life = |row: &WearOfCode| row.life_beside(&rows[0]);
    if arguments.json {
        let row = |row: &WearOfCode| {
            json!({
                "code": row.code.to_string(), "warm_up_bytes": row.warm_up_bytes,
                "user_bytes": row.user_bytes, "host_bytes": row.host_bytes, "programmed_bytes": row.programmed_bytes,
                "expansion": row.expansion(), "write_amplification": row.write_amplification(), "erases_mean": row.erases_mean,
                "erases_most": row.erases_most, "cold_drives": row.cold_drives, "is_short": row.is_short(), "life": life(row),
            })
        };
        print_json(&rows.iter().map(row).collect::<Vec<Value>>())?;
        return Ok(DONE);
    }
    let mut text = format!(
        "{:<6} {:>11} {:>12} {:>12} {:>12} {:>6}\n",
        "code", "bytes a B", "amplified", "erases", "most worn", "life"
    );
    for row in &rows {
        text += &format!(
            "{:<6} {:>11.3} {:>12.3} {:>12.1} {:>12.1} {:>6}\n",
            row.code.to_string(),
            row.expansion(),
            row.write_amplification(),
            row.erases_mean,
            row.erases_most,
            life(row).map_or_else(|| "-".to_owned(), |life| format!("{life:.2}"))
        );
    }
    text += &warnings(&rows, arguments.drives);
    print(&text)?;
    Ok(DONE)
}
