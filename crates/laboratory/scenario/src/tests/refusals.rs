//! Refusals: an invalid scenario gives one sentence that points at the place of the error.

use super::*;

#[test]
fn an_error_points_at_its_place() {
    let text = "[drive]\npage-size = '4 KiB'\nmapping-unit = '3 KiB'\n[until]\ndrive-writes = 1";
    let error = resolve(text, &[]).unwrap_err();
    assert_eq!((error.line(), error.key.as_str()), (Some(3), "drive.mapping-unit"));
    assert_eq!(&text[error.span.unwrap()], "mapping-unit = '3 KiB'");
    let good = text.replace("3 KiB", "2 KiB");
    let error = resolve(&good, &["drive.mapping-unit='3 KiB'"]).unwrap_err();
    assert_eq!((error.source_name.as_str(), error.line()), ("--set drive.mapping-unit='3 KiB'", None));
    let error = resolve(&good, &["ftl.wear-leveling={ policy = 'pwl', threshold = 7 }"]).unwrap_err();
    assert_eq!(error.key, "ftl.wear-leveling.threshold");
}

/// Resolves each text, with an end added if it has none, and checks that the error contains the given part.
fn check_refusals(table: &[(&str, &str)]) {
    for (text, want) in table {
        let ends = text.contains("until") || text.contains("phase");
        let text = if ends { (*text).to_owned() } else { format!("{text}\n[until]\ndrive-writes = 1") };
        let error = resolve(&text, &[]).expect_err(&text).to_string();
        assert!(error.contains(want), "{text}\n  said: {error}\n  want: {want}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn what_is_no_scenario_is_said_in_one_sentence() {
    check_refusals(&[
        ("[drvie]\nx = 1", "did you mean \"drive\"?"),
        ("seed = 'x'", "seed: found \"x\", expected a whole number"),
        ("seed = -1", "found -1"),
        ("[drive", "this is no TOML"),
        ("seed = 1\nseed = 2", "test.toml, line 2: this is no TOML: duplicate key \"seed\""),
        (
            "x = 1\nseed = 99999999999999999999",
            "line 2: seed: found 99999999999999999999, which is too large: whole numbers are",
        ),
        (
            "[until]\ndrive-writes = 1e999",
            "line 2: until.drive-writes: found 1e999, which is too large: numbers are at most 1.79",
        ),
        (
            "[ftl]\ngc = { policy = 'windowed-greedy', window = 0xffffffffffffffffffffffff }",
            "ftl.gc.window: found 0xffff",
        ),
        ("[probe]\nat-drive-writes = [1, -1e400]", "probe.at-drive-writes.1: found -1e400"),
    ]);
}

#[test]
fn a_drive_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        (
            "[drive]\npage_size = '4 KiB'",
            "test.toml, line 2: drive.page_size: unknown key; did you mean \"page-size\"?",
        ),
        ("drive = 3", "expected a table [drive]"),
        ("[drive]\npage-size = 4096", "expected a size with its unit"),
        ("[drive]\npage-size = '4 KB'", "'4 KB' is not a size"),
        ("[drive]\nspare-factor = 1.5", "found 1.5, expected 0 to 1"),
        ("[drive]\nover-provisioning = 14", "did you mean \"14 %\"?"),
        ("[drive]\nspare-factor = 7.5", "did you mean \"7.5 %\"?"),
        ("[drive]\nover-provisioning = 'much'", "found \"much\", expected 0 to 1, or"),
        ("[drive]\nspare-factor = '100 %'", "leaves no logical capacity"),
        ("[drive]\npreset = 'x'", "allowed are ftlsim-256g"),
        ("[drive]\nspare-factor = 0", "leaves no spare space"),
        ("[drive]\nlogical-capacity = '1 GiB'\nspare-factor = 0.1\nblocks = 9999", "leave one of the three out"),
        ("[drive]\nlogical-capacity = '1000 B'", "no multiple of the mapping unit"),
        ("[drive]\nmapping-unit = '3 KiB'", "no whole fraction of the page"),
        ("[drive]\nlogical-capacity = '17 TiB'", "the smallest unit that fits is 8 KiB"),
        ("[drive]\nchannels = 3\nblocks = 1000", "no multiple of the drive's 3 planes"),
        ("[drive]\nendurance = 'much'", "found \"much\""),
        ("[drive]\npages-per-block = 1", "at least 2 are needed"),
        ("[drive]\nblocks = 100\nblocks-per-plane = 99", "1 planes of 99 blocks are 99"),
        ("[drive]\nspare-factor = '99.99999999 %'\nblocks = 100", "leaves no logical capacity"),
        ("[drive]\nlogical-capacity = '17 TiB'\npage-size = '16 KiB'\nmapping-unit = '4 KiB'", "fits is 8 KiB"),
    ]);
}

/// The values that the sentence allows are accepted; a unit more or a hundredth of a percent less is not.
#[test]
fn a_drive_without_room_is_told_what_takes_its_blocks_and_what_fits() {
    let stripes = "[ftl]\ndomain = 'die'\ngc-reserve = 2\nredundancy = { policy = 'stripes', data-pages = 3 }";
    // (drive, ftl, part of the sentence, a drive that it allows, one just beyond)
    let table = [
        (
            "spare-factor = 0",
            "",
            "drive.spare-factor: leaves no spare space: 8 GiB of logical capacity on 8199 blocks, of which garbage collection \
             keeps 7 free and 1 is open for writing, each of 1 MiB; the smallest spare-factor for 8 GiB is 0.02 %",
            "spare-factor = '0.02 %'",
            "spare-factor = '0.01 %'",
        ),
        (
            "blocks = 100\nlogical-capacity = '100 MiB'",
            "[ftl]\nfrontiers = 'separate'",
            "100 blocks, of which garbage collection keeps 7 free and 2 are open for writing, each of 1 MiB; the largest \
             logical-capacity is 91 MiB",
            "blocks = 100\nlogical-capacity = '91 MiB'",
            "blocks = 100\nlogical-capacity = '93188 KiB'",
        ),
        (
            "blocks = 100\nspare-factor = '5 %'",
            "",
            "keeps 7 free and 1 is open for writing, each of 1 MiB; the smallest spare-factor is 8 %",
            "blocks = 100\nspare-factor = '8 %'",
            "blocks = 100\nspare-factor = '7.99 %'",
        ),
        (
            "channels = 4\nblocks-per-plane = 64\nspare-factor = 0.28",
            stripes,
            "256 blocks, of which garbage collection keeps 8 free, 4 are open for writing and parity takes 61 (1 page for 3 of data), \
             each of 1 MiB; the smallest spare-factor is 28.52 %",
            "channels = 4\nblocks-per-plane = 64\nspare-factor = '28.52 %'",
            "channels = 4\nblocks-per-plane = 64\nspare-factor = '28.51 %'",
        ),
        (
            "channels = 4\nlogical-capacity = '1 GiB'\nspare-factor = 0.2",
            stripes,
            "the smallest spare-factor for 1 GiB is 25.26 %",
            "channels = 4\nlogical-capacity = '1 GiB'\nspare-factor = '25.26 %'",
            "channels = 4\nlogical-capacity = '1 GiB'\nspare-factor = '25 %'",
        ),
        (
            "blocks = 8\nlogical-capacity = '1 MiB'",
            "",
            "; at least 9 blocks are needed",
            "blocks = 9\nlogical-capacity = '1 MiB'",
            "",
        ),
    ];
    for (drive, ftl, want, allowed, beyond) in table {
        let drive_of = |drive: &str| format!("[drive]\n{drive}\n{ftl}\n[until]\ndrive-writes = 1");
        let error = resolve(&drive_of(drive), &[]).expect_err(drive).to_string();
        assert!(error.contains(want), "{drive}\n  said: {error}\n  want: {want}");
        resolve(&drive_of(allowed), &[]).unwrap_or_else(|error| panic!("{error}"));
        if !beyond.is_empty() {
            let error = resolve(&drive_of(beyond), &[]).expect_err(beyond).to_string();
            assert!(error.contains("leaves no spare space"), "{beyond}: {error}");
        }
    }
}

#[test]
fn a_schedule_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        (
            "[ftl]\ngc = { policy = 'd-choices', schedule = [['0 %', 8], ['70 %', 0]] }",
            "ftl.gc: policy \"d-choices\": `schedule`: found d = 0, allowed are 1 to 4096",
        ),
        (
            "[ftl]\ngc = { policy = 'd-choices', schedule = [['70 %', 8], ['7 %', 2]] }",
            "`schedule`: found 7 % after 70 %, but wear must rise",
        ),
        (
            "[ftl]\ngc = { policy = 'd-choices', schedule = [['7', 2]] }",
            "ftl.gc.schedule: policy \"d-choices\": `schedule`: found \"7\", expected a ratio from 0 to 1",
        ),
        ("[drive]\nendurance = 'none'\n[ftl]\ngc = { policy = 'd-choices', schedule = [['7 %', 2]] }", "endurance"),
    ]);
}

#[test]
fn a_firmware_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        (
            "[drive]\npreset = 'ftlsim-256g'\n[ftl]\ngc = 'wear-focusing'",
            "wear-focusing goes by a look at each block of a domain for every victim: at most 4096 are allowed, and this drive's has",
        ),
        ("[ftl]\ngc = 'gredy'", "did you mean \"greedy\"?"),
        ("[ftl.gc]\npolicy = 'd-choices'\nchoices = 2", "`choices`: is unknown, allowed are `d`, `draw`, `schedule`"),
        ("[ftl.wear-leveling]\npolicy = 'pwl'\ntreshold = 0.5", "did you mean \"threshold\"?"),
        ("[ftl.gc]\npolcy = 'fifo'", "did you mean \"policy\"?"),
        (
            "[ftl]\ngc = { policy = 'd-choices', d = 0 }",
            "ftl.gc.d: policy \"d-choices\": `d`: found 0, expected a number from 1 to 4096",
        ),
        ("[ftl]\ngc = { policy = 'greedy', d = 2 }", "`d`: is unknown, allowed are `tie`"),
        ("[ftl]\ngc = { policy = 'd-choices', d = 'string x' }", "found \"string x\", expected a number"),
        (
            "[ftl]\ngc = { policy = 'd-choices', d = 'x' }",
            "ftl.gc.d: policy \"d-choices\": `d`: found \"x\", expected a number",
        ),
        (
            "[ftl]\nredundancy = { policy = 'stripes', data-pages = -1 }",
            "found -1, expected a whole number from 1 to 1024",
        ),
        (
            "[ftl]\nredundancy = { policy = 'stripes', data-pages = [1] }",
            "`data-pages`: found a list, expected a whole number",
        ),
        ("[ftl]\ngc = { d = 2 }", "policy \"greedy\": `d`: is unknown, allowed are `tie`"),
        ("[ftl]\nwear-leveling = { policy = 'pwl', threshold = '150 %' }", "ratio from 0 to 1"),
        ("[drive]\nendurance = 'none'\n[ftl]\nwear-leveling = 'pwl'", "pwl follows the rated endurance"),
        ("[ftl]\nallocation = 'lest-worn'", "did you mean \"least-worn\"?"),
        ("[ftl]\nallocation = { policy = 'fifo', d = 2 }", "it takes no parameters"),
        (
            "[ftl]\nfrontiers = 'one'\nplacement = 'separate'",
            "ftl.placement: found \"separate\", but ftl.frontiers is \"one\"; give one of the two",
        ),
        (
            "[ftl]\nfrontiers = 'separate'\nplacement = 'autostream-sfr'",
            "ftl.placement: found \"autostream-sfr\", but ftl.frontiers is \"separate\"; give one of the two",
        ),
        (
            "[ftl]\nplacement = { policy = 'autostream-mq', streams = 17 }",
            "ftl.placement.streams: policy \"autostream-mq\": `streams`: found 17, expected a whole number from 2 to 16",
        ),
        (
            "[drive]\npreset = 'none'\nblocks = 64\nspare-factor = '20 %'\n[ftl]\nplacement = 'autostream-sfr'",
            "64 blocks, of which garbage collection keeps 7 free and 8 are open for writing, each of 1 MiB; the smallest spare-factor is \
             23.44 %",
        ),
        ("[ftl]\ngc = 3", "expected a policy (greedy, cost-benefit"),
        ("[ftl]\ngc = { policy = 3 }", "found 3, expected a name"),
        ("[ftl]\ngc = { defaults = 3 }", "ftl.gc.defaults: found 3, expected a list of the parameters"),
        (
            "[ftl]\ngc = { policy = 'cost-benefit', defaults = ['aeg'] }",
            "test.toml, line 2: ftl.gc.defaults: found \"aeg\", which is no parameter of policy \"cost-benefit\"; allowed are",
        ),
        ("[ftl]\ngc = { policy = 'd-choices', d = 2, defaults = ['d', 'dd'] }", "found \"dd\""),
        (
            "[ftl]\ngc = { defaults = ['tiee'] }",
            "parameter of policy \"greedy\"; allowed are tie; did you mean \"tie\"?",
        ),
        ("[ftl]\nallocation = { policy = 'fifo', defaults = ['d'] }", "policy \"fifo\"; it takes none"),
        (
            "[ftl]\ncapacity = { policy = 'variant', defaults = ['shrnk'] }",
            "allowed are keep, method, relocation-bound, shrink, step; did you mean \"shrink\"?",
        ),
        ("[ftl]\nunit = 'superblok'", "did you mean \"superblock\"?"),
    ]);
}

#[test]
fn a_reserve_that_does_not_suffice_is_refused() {
    check_refusals(&[
        ("[ftl]\ngc-reserve = 1", "at least 2 are needed"),
        ("[drive]\nendurance = 'none'\n[ftl]\ngc-reserve = 1\nread-recovery = 2", "at least 2 are needed"),
        ("[ftl]\nread-recovery = 1025", "ftl.read-recovery: found 1025"),
        ("[drive]\nendurance = 'none'\n[ftl]\ngc-reserve = 1\nwear-leveling = 'dual-pool'", "at least 2"),
    ]);
}

#[test]
fn a_run_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        ("[precondition]\nfill = '50 %'\nsequential-drive-writes = 1", "but fill is 50 %"),
        ("[workload]\nfootprint = '120 %'", "found \"120 %\", expected 0 to 1"),
        ("[workload]\nfootprint = 0", "covers no page"),
        ("[workload]\nexponent = 1.2", "does not belong to pattern = \"uniform\""),
        ("[workload]\npattern = 'zip'", "did you mean \"zipf\"?"),
        ("[workload]\npattern = 'uniform'\ntrace = 'x'", "stands beside pattern"),
        ("[workload]\nmix = [{ share = 0.5, pattern = 'uniform' }]", "add up to 50 %"),
        ("[workload]\nstandin = 'x'", "allowed are ycsb-a"),
        ("[workload]\nfill = '10 %'", "unknown key here; it belongs to [precondition]"),
        ("[workload]\nread-share = 0.7\ntrim-share = 0.4", "exceeds 100 %"),
        ("[workload]\nread-share = 1", "its workload writes nothing"),
        ("[workload]\nrequest-size = '5 KiB'", "a multiple of the mapping unit, 4 KiB"),
        ("[workload]\npattern = 'hot-cold'\nh = 0", "leaves no hot page"),
        ("[workload]\npattern = 'hot-cold'\nh = 1", "leaves no cold page"),
        ("[workload]\nstandin = 'rad-be'\nfootprint = 0.5", "does not belong to a stand-in"),
        (
            "[workload]\nstandin = 'rad-be-traffic'\nlayout = 'scattered'",
            "layout: stands with rad-be-traffic, which reads too; such a stand-in is always packed",
        ),
        ("[workload]\nstandin = 'rad-be'\nlayout = 'x'", "allowed are packed, scattered"),
        ("[workload]\ntrace = ''", "found \"\", expected text"),
        ("[workload]\ntrace = 'x'\nassume-block = '0 B'", "found \"0 B\""),
        ("[workload]\ntrace = 'x'\nassume-one = 'trim'", "assume-one: found \"trim\", allowed are read, write"),
        ("[workload]\nshare = 0.5", "unknown key here; it belongs to [[workload.mix]]"),
        ("[workload]\nmix = [{ pattern = 'uniform' }]", "needs its share"),
        (
            "[workload]\nmix = [{ share = 1, mix = [] }]",
            "workload.mix.0.mix: unknown key here; it belongs to [workload]",
        ),
        ("[workload]\nmix = 3", "expected a list of workloads"),
        ("[[phase]]\n[workload]\n", "stands beside [[phase]]"),
        ("phase = 3", "expected one or more `[[phase]]` tables"),
        ("phase = []", "phase: found [], expected one or more `[[phase]]` tables"),
        ("[[phase]]\nworkloads = {}", "did you mean \"workload\"?"),
        ("[[phase]]\nuntil = { end-of-life = false }", "phase.0.until: the run would never end"),
        ("[until]\ndrive-writes = nan", "found nan"),
        ("[until]\nrequests = 0", "found 0, expected a whole number from 1 to"),
        ("until = {}", "the run would never end"),
        ("[drive]\nendurance = 'none'\n[until]\nend-of-life = true", "end-of-life alone never comes"),
    ]);
}

#[test]
fn a_store_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        ("[workload]\nlsm = 'ycsb-g'", "allowed are ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f, mixed"),
        (
            "[workload]\nlsm = 'ycsb-a'\ngets = '10 %'",
            "workload.gets: does not belong to lsm = \"ycsb-a\", which fixes it",
        ),
        ("[workload]\nlsm = 'mixed'\ngets = '60 %'\nscans = '50 %'", "read-modify-writes they are 110 %"),
        (
            "[workload]\nlsm = 'ycsb-a'\nread-share = '10 %'",
            "workload.read-share: does not belong to a key-value store",
        ),
        ("[workload]\nlsm = 'ycsb-a'\npattern = 'zipf'", "stands beside pattern"),
        ("[workload]\nlsm = 'ycsb-a'\nfan-out = 1", "workload.fan-out: found 1, expected a whole number from 2 to 100"),
        ("[workload]\nlsm = 'ycsb-a'\ncache-hits = 1", "workload.cache-hits: the share of blocks found in memory is 1"),
        (
            "[workload]\nlsm = 'ycsb-a'\nrecord-size = '65 MiB'",
            "workload.record-size: a record is 65 MiB; 1 B to 64 MiB are allowed",
        ),
        (
            "[workload]\nlsm = 'ycsb-a'\ndata = '90 %'",
            "workload.data: 90 % of records may take up to 11.35 GiB while they are compacted, and the drive exports 8 GiB; up to 55 % fit",
        ),
        (
            "[drive]\nlogical-capacity = '1 GiB'\n[workload]\nlsm = 'ycsb-a'",
            "and the drive exports 1 GiB; give it a smaller memtable, smaller tables or a larger drive",
        ),
        ("[workload]\nlsm = 'ycsb-c'\n[until]\ndrive-writes = 1", "its workload writes nothing"),
        (
            "[workload]\nmix = [{ share = 1, lsm = 'ycsb-a' }]",
            "workload.mix.0.lsm: unknown key here; it belongs to [workload]",
        ),
        (
            "[workload]\nlsm = 'ycsb-a'\narrival = 'trace'",
            "\"trace\" needs the times of a trace, but the workload is a key-value store",
        ),
    ]);
}

#[test]
fn a_wrong_assignment_is_named() {
    let error = resolve(EXAMPLE, &["ftl.gc.polcy=x"]).unwrap_err().to_string();
    assert!(error.starts_with("--set ftl.gc.polcy=x: ftl.gc.polcy: "), "{error}");
    assert!(resolve(EXAMPLE, &["nonsense"]).unwrap_err().to_string().contains("KEY=VALUE"));
}

#[test]
fn an_assigned_table_that_is_no_toml_is_told_as_such() {
    for assignment in
        ["ftl.scrub={policy='oracle',threshold=1e400}", "ftl.gc={policy='d-choices' d=2}", "probe.at-drive-writes=[1,"]
    {
        let sources = Sources { preset: Some("tiny"), set: &[assignment.to_owned()], ..Sources::default() };
        let refused = Scenario::resolve(&sources).unwrap_err().to_string();
        assert!(refused.contains("the value is no TOML: ") && !refused.contains("unknown policy"), "{refused}");
    }
}

#[test]
fn a_life_that_cannot_be_fast_forwarded_is_refused() {
    let life = "workload.pattern = 'uniform'\nuntil.drive-writes = 9\n";
    let refused = |text: &str| {
        let text = format!("drive.preset = 'tiny'\n{life}{text}");
        Scenario::resolve(&Sources { file: Some(("forward.toml", &text)), ..Sources::default() })
            .unwrap_err()
            .to_string()
    };
    for (text, want) in [
        ("fast-forward.factor = 0.5", "fast-forward.factor"),
        ("fast-forward.factor = -1", "fast-forward.factor"),
        ("fast-forward.period = 0", "fast-forward.period"),
        ("fast-forward.window = 1", "fast-forward.window"),
        ("fast-forward.window = 9", "model = \"two-point\" looks back on no window; those that do are least-squares,"),
        ("fast-forward = { model = 'devs', window = 9 }", "model = \"devs\" looks back on no window"),
        ("fast-forward.refit = 1", "model = \"two-point\" is fitted before each prediction; devs is not"),
        ("fast-forward.model = 'deep'", "two-point"),
        ("fast-forward.faktor = 2", "did you mean \"factor\""),
        ("fast-forward.factor-most = 9", "needs adaptive = true"),
        ("fast-forward = { factor = 9, adaptive = true, factor-most = 3 }", "at least factor, 9"),
        ("fast-forward.factor = 2\ntime.scheduler = 'event'", "the scenario has a clock (time.scheduler)"),
        ("fast-forward.factor = 2\ndrive.faults.program-failure = 1e-6", "faults (drive.faults)"),
        ("fast-forward.factor = 2\ndrive.chip = 'tlc-72l-2018'", "errors (drive.chip)"),
        (
            "fast-forward.factor = 2\ndrive.ecc.relocations = 'checked'\ndrive.chip = 'tlc-72l-2018'\ntime.scheduler = 'event'\n\
             probe.at-drive-writes = [1]\nprobe.until.requests = 9",
            "relocations that are checked (drive.ecc.relocations)",
        ),
        (
            "fast-forward.factor = 2\ndrive.initial.retention = '9 days'\ndrive.chip = 'tlc-72l-2018'\ntime.scheduler = 'event'\n\
             probe.at-drive-writes = [1]\nprobe.until.requests = 9",
            "data with a past (drive.initial.retention",
        ),
        ("fast-forward.factor = 2\nftl.recovery = 'checkpoint'", "ftl.recovery"),
        ("fast-forward.factor = 2\nuntil.requests = 9", "a phase that ends by requests"),
    ] {
        let found = refused(text);
        assert!(found.contains(want), "{text}: {found}");
    }
}

#[test]
fn fast_forward_is_part_of_a_scenario_and_its_hash() {
    let resolved = |text: &str| {
        let text = format!("drive.preset = 'tiny'\nworkload.pattern = 'uniform'\nuntil.drive-writes = 9\n{text}");
        Scenario::resolve(&Sources { file: Some(("forward.toml", &text)), ..Sources::default() }).unwrap()
    };
    let (without, with) = (resolved(""), resolved("fast-forward.factor = 3"));
    assert_ne!(without.hash(), with.hash());
    for scenario in [with, resolved("fast-forward = { adaptive = true, factor-most = 9, model = 'ranks', window = 9 }")]
    {
        let text = scenario.to_toml();
        let again = Scenario::resolve(&Sources { file: Some(("again.toml", &text)), ..Sources::default() }).unwrap();
        assert_eq!(again.fast_forward, scenario.fast_forward, "{text}");
        assert_eq!(again.to_toml(), text);
    }
}
