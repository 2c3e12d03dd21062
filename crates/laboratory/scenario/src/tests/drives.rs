//! Drives: the sizes that presets, capacities and spare factors resolve to, and their preconditioning.

use wane_nand::CellKind;

use super::*;

#[test]
fn the_published_drive_has_its_published_blocks() {
    let scenario = resolve("[drive]\npreset = 'ftlsim-256g'\n[until]\ndrive-writes = 1", &[]).unwrap();
    let device = &scenario.device;
    assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (67_108_864, 291_271, 291_278));
}

#[test]
fn the_drives_of_the_papers_come_out() {
    // (preset, logical units, physical units, T, firmware blocks)
    let table = [
        ("ftlsim-8g", 2_097_152, 9109 * 256, 9102, 9109),
        ("amber-mlc", 67_004_006, 74_448_896, 145_401, 145_408),
        ("femu-16g", 3_932_160, 4_194_304, 253, 256),
        ("cvss-128g", 31_249_920, 33_554_432, 512, 512),
        ("cvss-128g-released", 31_249_920, 33_554_432, 512, 512),
        ("trss-128g", 31_249_920, 33_554_432, 512, 512),
        ("autostream-128g", 31_249_920, 33_554_432, 512, 512),
        ("ttflash-128g", 31_249_920, 33_554_432, 512, 512),
        ("ttflash-rain-128g", 31_249_920 * 3 / 4, 33_554_432, 32_768, 32_768),
        ("fast19-ssd", 52_428_800, 67_108_864, 65_312, 65_536),
        ("mean-field", 7_130_316, 8_388_608, 124_520, 131_072),
    ];
    for (preset, logical, physical, rated, blocks) in table {
        let device = resolve(&format!("[drive]\npreset = '{preset}'\n[until]\ndrive-writes = 1"), &[]).unwrap().device;
        let got = (device.logical_units, device.physical_units(), device.rated_blocks, device.blocks);
        assert_eq!(got, (logical, physical, rated, blocks), "{preset}");
    }
}

#[test]
fn the_capacity_variant_drive_scales_by_its_pages() {
    for (pages, share) in [(64, 16), (16, 64)] {
        for preset in ["cvss-128g", "cvss-128g-released", "trss-128g", "autostream-128g", "ttflash-128g"] {
            let file = format!("[drive]\npreset = '{preset}'\npages-per-block = {pages}\n[until]\ndrive-writes = 1");
            let device = resolve(&file, &[]).unwrap().device;
            let got = (device.logical_units, device.rated_blocks, device.blocks, device.gc_reserve);
            assert_eq!(got, (31_249_920 / share, 512, 512, 21), "{preset} {pages}");
        }
    }
}

#[test]
fn every_preset_resolves_and_says_what_it_is() {
    for preset in PRESETS {
        let sources = Sources { preset: Some(preset.name), file: Some(("t", "[until]\ndrive-writes = 1")), set: &[] };
        let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert!(preset.summary().len() > 20 && scenario.device.logical_units > 0);
    }
}

/// Presets of typical drives are named by kind and capacity, and each of their keys says where its value comes from.
#[test]
fn presets_of_drives_on_sale_are_what_their_names_say() {
    let bought: Vec<_> =
        PRESETS.iter().filter(|preset| preset.name.starts_with("tlc-") || preset.name.starts_with("qlc-")).collect();
    assert_eq!(bought.len(), 8);
    for preset in bought {
        let name = preset.name;
        let sources = Sources { preset: Some(name), file: Some(("t", "[until]\ndrive-writes = 1")), set: &[] };
        let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{name}: {error}"));
        let terabytes: f64 = name.trim_end_matches('t').rsplit('-').next().unwrap().parse().unwrap();
        let device = &scenario.device;
        assert!((device.logical_bytes() as f64 / 1e12 - terabytes).abs() < 1e-9, "{name}: {}", device.logical_bytes());
        let (cycles, surplus) = match name.split_once("-").unwrap() {
            ("tlc", kind) if kind.starts_with("enterprise") => (3000, 0.14),
            ("tlc", _) => (1500, 0.09),
            ("qlc", kind) if kind.starts_with("enterprise") => (1500, 0.14),
            _ => (1000, 0.09),
        };
        assert_eq!(device.endurance, Some(cycles), "{name}");
        let asked = over_provisioning_of(device.spare_factor);
        assert!((asked - surplus).abs() < 1e-9, "{name}: {asked}");
        // The reserve of garbage collection and whole planes add a little.
        assert!((device.over_provisioning() - surplus).abs() < 0.01, "{name}: {}", device.over_provisioning());
        let dies = f64::from(device.geometry.dies()) * if name.starts_with("tlc") { 68.7e9 } else { 137.4e9 };
        let flash = device.geometry.capacity().0 as f64;
        assert!((0.85..=1.0).contains(&(flash / dies)), "{name}: its dies have {dies}, its blocks {flash}");
        check_origins(preset);
    }
}

/// Each key of a preset says where its value comes from.
fn check_origins(preset: &Preset) {
    let lines: Vec<&str> = preset.text.lines().collect();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(" = ") && !line.starts_with('#')) {
        let why = lines[number - 1];
        let told =
            why.starts_with("# ") && ["source: ", "guessed: ", "calibrated: "].iter().any(|word| why.contains(word));
        assert!(told, "{}: {line} has no source, and is neither guessed nor calibrated", preset.name);
    }
}

#[test]
fn presets_of_the_qlc_study_are_the_drives_of_its_table() {
    let table = [
        ("sata-emlc-240g", 240e9, CellKind::Mlc, 16),
        ("sata-tlc-480g", 480e9, CellKind::Tlc, 16),
        ("sata-qlc-480g", 480e9, CellKind::Qlc, 4),
        ("sata-eqlc-1.92t", 1920e9, CellKind::Qlc, 16),
    ];
    assert_eq!(PRESETS.iter().filter(|preset| preset.name.starts_with("sata-")).count(), table.len());
    for (name, bytes, cell, dies) in table {
        let scenario =
            resolve(&format!("[drive]\npreset = '{name}'\n[time]\nscheduler = 'event'\n[until]\nrequests = 1"), &[])
                .unwrap();
        let device = &scenario.device;
        // In whole mapping units.
        assert!((device.logical_bytes() as f64 - bytes).abs() < 4096.0, "{name}: {}", device.logical_bytes());
        assert_eq!((scenario.medium.cell, device.geometry.dies()), (Some(cell), dies), "{name}");
        assert!((device.over_provisioning() - 0.14).abs() < 0.01, "{name}: {}", device.over_provisioning());
        // Dies of whole powers of two, some blocks of which are bad.
        let flash = device.geometry.capacity().0 / u64::from(dies);
        let share = flash as f64 / flash.next_power_of_two() as f64;
        assert!((0.98..=1.0).contains(&share), "{name}: {flash} bytes a die, {share}");
        assert!(scenario.time.has_link(), "{name}");
        check_origins(PRESETS.iter().find(|preset| preset.name == name).unwrap());
    }
}

#[test]
fn keys_that_are_set_displace_inherited_ones() {
    let until = "\n[until]\ndrive-writes = 1";
    // (drive, logical units, T, blocks)
    let table = [
        ("logical-capacity = '1 GiB'", 262_144, 1137, 1144),
        ("blocks = 1000", 230_400, 993, 1000),
        ("blocks = 1000\nspare-factor = '20 %'", 204_800, 993, 1000),
        ("blocks = 1000\nlogical-capacity = '512 MiB'", 131_072, 993, 1000),
        ("spare-factor = '28 %'", 2_097_152, 11_377, 11_384),
        ("preset = 'amber-mlc'\nblocks-per-plane = 10\nlogical-capacity = '1 GiB'", 262_144, 1273, 1280),
        ("preset = 'amber-mlc'\nlogical-capacity = '1 GiB'", 262_144, 633, 640),
        ("page-size = '16 KiB'\nmapping-unit = '4 KiB'", 2_097_152, 2275, 2282),
    ];
    for (drive, logical, rated, blocks) in table {
        let device = resolve(&format!("[drive]\n{drive}{until}"), &[]).unwrap_or_else(|error| panic!("{error}")).device;
        assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (logical, rated, blocks), "{drive}");
    }
}

#[test]
fn each_die_keeps_a_reserve_and_superblocks_come_whole() {
    let shape = "channels = 2\ndies-per-channel = 2\nplanes-per-die = 2\nlogical-capacity = '1 GiB'\n";
    // U is 1024 blocks, 128 superblocks of the drive or 512 of the dies. (unit, domain, T, flash blocks)
    let table = [
        ("block", "drive", 1137, 1137 + 7),
        ("block", "die", 1137 + 3, 1137 + 28 + 3),
        ("superblock", "drive", 142, (142 + 7) * 8),
        ("superblock", "die", 568, (568 + 28) * 2),
    ];
    for (unit, domain, rated, flash) in table {
        let text = format!("[drive]\n{shape}[ftl]\nunit = '{unit}'\ndomain = '{domain}'\n[until]\ndrive-writes = 1");
        let device = resolve(&text, &[]).unwrap().device;
        assert_eq!((device.rated_blocks, device.geometry.blocks()), (rated, flash), "{unit} {domain}");
        assert_eq!(device.geometry.blocks() % 8, 0);
    }
}

#[test]
fn preconditioning_fills_once_unless_it_says_otherwise() {
    let preset = "[drive]\npreset = 'ftlsim-8g'\n";
    // (text, fill, sequential, random)
    let table = [
        ("", 1.0, 1, 0.0),
        (preset, 1.0, 1, 3.0),
        ("[precondition]\nfill = '0 %'", 0.0, 0, 0.0),
        ("[precondition]\nfill = 0.25\nrandom-drive-writes = 0.5", 0.25, 0, 0.5),
        ("[precondition]\nsequential-drive-writes = 0", 0.0, 0, 0.0),
        ("[precondition]\nsequential-drive-writes = 2\nfill = '100 %'", 1.0, 2, 0.0),
        ("[precondition]\nfill = '0 %'\n[drive]\npreset = 'ftlsim-8g'", 0.0, 0, 0.0),
        ("[precondition]\nrandom-drive-writes = 1\n[drive]\npreset = 'ftlsim-8g'", 1.0, 1, 1.0),
    ];
    for (text, fill, sequential, random) in table {
        let precondition = resolve(&format!("{text}\n[until]\ndrive-writes = 1"), &[]).unwrap().precondition;
        let got = (precondition.fill.get(), precondition.sequential_drive_writes, precondition.random_drive_writes);
        assert_eq!(got, (fill, sequential, random), "{text}");
    }
}

/// Either key gives the same drive, plain data and hash as the other, and layers displace both alike.
#[test]
fn over_provisioning_is_the_spare_factor_in_other_words() {
    let table = [
        ("over-provisioning = '7 %'", "spare-factor = 0.06542056074766356"),
        ("over-provisioning = 0.25", "spare-factor = '20 %'"),
        ("over-provisioning = '150 %'", "spare-factor = '60 %'"),
        ("blocks = 4096\nover-provisioning = '25 %'", "blocks = 4096\nspare-factor = '20 %'"),
    ];
    for (surplus, spare) in table {
        let of = |keys: &str| resolve(&format!("[drive]\n{keys}\n[until]\ndrive-writes = 1"), &[]).unwrap();
        let (surplus, spare) = (of(surplus), of(spare));
        assert_eq!((surplus.device, surplus.hash()), (spare.device, spare.hash()));
    }
    let both = "[drive]\nover-provisioning = '7 %'\nspare-factor = '10 %'\n[until]\ndrive-writes = 1";
    let error = resolve(both, &[]).unwrap_err().to_string();
    assert!(error.contains("line 2: drive.over-provisioning: stands beside spare-factor"), "{error}");
    let layers = |below: &str, above: &str| {
        resolve(&format!("[drive]\n{below}\n[until]\ndrive-writes = 1"), &[above]).unwrap().device.spare_factor
    };
    assert_eq!(layers("spare-factor = '10 %'", "drive.over-provisioning=25 %"), 0.2);
    assert_eq!(layers("over-provisioning = '25 %'", "drive.spare-factor=10 %"), 0.1);
}

#[test]
fn a_resolved_scenario_says_what_its_spare_factor_comes_to() {
    let text = "[drive]\nblocks = 4096\nspare-factor = '20 %'\n[until]\ndrive-writes = 1";
    let resolved = resolve(text, &[]).unwrap().to_toml();
    let first = resolved.lines().next().unwrap_or_default();
    assert_eq!(first, "# over-provisioning (physical / logical - 1) 25 %, spare factor (1 - logical / physical) 20 %");
}

/// What the advice of a message says to set.
fn advised(message: &str) -> Vec<String> {
    let quoted = |after: &str| {
        let rest = message.split_once(after)?.1;
        Some(rest.split([',', ';']).next().unwrap_or(rest).trim().to_owned())
    };
    let mut set = Vec::new();
    set.extend(quoted("the largest logical-capacity is ").map(|value| format!("drive.logical-capacity={value}")));
    set.extend(
        quoted("spare-factor for ").and_then(|rest| Some(format!("drive.spare-factor={}", rest.split_once(" is ")?.1))),
    );
    set.extend(quoted("the smallest spare-factor is ").map(|value| format!("drive.spare-factor={value}")));
    set.extend(quoted(", and then spare-factor ").map(|value| format!("drive.spare-factor={value}")));
    set.extend(quoted(", spare-factor ").map(|value| format!("drive.spare-factor={value}")));
    set.extend(quoted("at least ").and_then(|rest| {
        let of_all = || Some(("blocks", rest.strip_suffix(" blocks are needed")?));
        let of_each = rest.strip_suffix(" blocks of each plane are needed").map(|count| ("blocks-per-plane", count));
        let (key, count) = of_each.or_else(of_all)?;
        Some(format!("drive.{key}={count}"))
    }));
    set.extend(
        quoted("nearest are ").and_then(|rest| Some(format!("drive.logical-capacity={}", rest.split(" and ").next()?))),
    );
    set
}

#[test]
fn every_advice_on_the_size_of_a_drive_leads_to_a_drive() {
    // (settings of the drive, the key that is told)
    let table = [
        ("logical-capacity = '64 MiB'\nover-provisioning = '0 %'", "drive.over-provisioning"),
        ("logical-capacity = '64 MiB'\nspare-factor = 0", "drive.spare-factor"),
        ("preset = 'tiny'\nover-provisioning = '0 %'", "drive.over-provisioning"),
        ("preset = 'cvss-128g'\nover-provisioning = '0 %'", "drive.over-provisioning"),
        ("preset = 'femu-16g'\nspare-factor = '0.1 %'", "drive.spare-factor"),
        ("preset = 'femu-16g'\nblocks-per-plane = 1", "drive.blocks-per-plane"),
        ("preset = 'femu-16g'\nblocks = 64", "drive.blocks"),
        ("preset = 'ftlsim-8g'\nblocks = 4", "drive.blocks"),
        ("preset = 'ftlsim-8g'\nblocks = 4\nspare-factor = 0", "drive.blocks"),
        ("logical-capacity = '64 MiB'\nblocks = 4", "drive.blocks"),
        ("preset = 'tlc-enterprise-3.84t'\nlogical-capacity = '5 TB'\nblocks = 4096", "drive.logical-capacity"),
        ("preset = 'mean-field'\nover-provisioning = '0 %'", "drive.over-provisioning"),
        ("preset = 'tiny'\nlogical-capacity = '61.00001 MB'", "drive.logical-capacity"),
        ("logical-capacity = '1 GiB'\nspare-factor = 0\nblocks = 1024", "drive.logical-capacity"),
    ];
    for (settings, key) in table {
        let text = format!("[drive]\n{settings}\n[until]\ndrive-writes = 1");
        let error = resolve(&text, &[]).expect_err(settings);
        assert_eq!(error.key, key, "{error}");
        let set = advised(&error.message);
        assert!(!set.is_empty(), "{error}");
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let resolved = resolve(&text, &set);
        assert!(
            resolved.is_ok(),
            "{error}\n  {set:?} leads to {}",
            resolved.err().map_or_else(String::new, |e| e.to_string())
        );
        // The same in the other words.
        if let Some(surplus) = error.message.rsplit_once("an over-provisioning of ") {
            let mut set = set.clone();
            set.retain(|set| !set.contains("spare-factor"));
            let surplus = format!("drive.over-provisioning={}", surplus.1);
            set.push(&surplus);
            assert!(resolve(&text, &set).is_ok(), "{error}\n  {set:?}");
        }
    }
}

#[test]
fn a_drive_uses_all_its_dies_and_planes_unless_it_says_otherwise() {
    use wane_ftl::{EraseGroup, Pooling};
    let of = |drive: &str, rest: &str| {
        let text = format!(
            "[drive]\nlogical-capacity = '8 GiB'\nspare-factor = '10 %'\n{drive}\n{rest}\n[until]\nrequests = 9"
        );
        let scenario = resolve(&text, &[]).unwrap_or_else(|error| panic!("{drive} {rest}: {error}"));
        let told =
            scenario.unasked().iter().filter(|told| told.contains("at a time") || told.contains("one after")).count();
        (scenario.ftl.domain, scenario.ftl.erase_group, scenario.time.multi_plane, told)
    };
    let (dies, planes) = ("channels = 2\ndies-per-channel = 2", "planes-per-die = 2");
    let both = format!("{dies}\n{planes}");
    let event = "[time]\nscheduler = 'event'";
    use EraseGroup::{Block, Superblock};
    let table = [
        ("", "", (Pooling::Drive, Block, false, 0)),
        ("", event, (Pooling::Drive, Block, false, 0)),
        (dies, event, (Pooling::Die, Block, false, 0)),
        (planes, event, (Pooling::Drive, Superblock, true, 0)),
        (&both, event, (Pooling::Die, Superblock, true, 0)),
        (&both, "", (Pooling::Die, Superblock, false, 0)),
        (&both, "[time]\nscheduler = 'timeline'", (Pooling::Die, Superblock, false, 1)),
        // What is written stays, and what stands idle for it is told.
        (dies, "[ftl]\ndomain = 'drive'\n[time]\nscheduler = 'event'", (Pooling::Drive, Block, false, 1)),
        (&both, "[ftl]\ndomain = 'drive'\n[time]\nscheduler = 'event'", (Pooling::Drive, Block, false, 1)),
        (&both, "[ftl]\nunit = 'block'\n[time]\nscheduler = 'event'", (Pooling::Die, Block, false, 1)),
        (&both, "[time]\nscheduler = 'event'\nmulti-plane = false", (Pooling::Die, Superblock, false, 1)),
    ];
    for (drive, rest, expected) in table {
        assert_eq!(of(drive, rest), expected, "{drive} {rest}");
    }
}

#[test]
fn what_uses_all_dies_and_planes_survives_the_resolved_text() {
    let drive = "[drive]\nlogical-capacity = '8 GiB'\nchannels = 4\nplanes-per-die = 2\n[time]\nscheduler = 'event'\n";
    for rest in ["", "multi-plane = false\n", "[ftl]\nunit = 'block'\n", "[ftl]\ndomain = 'drive'\n"] {
        let scenario = resolve(&format!("{drive}{rest}[until]\nrequests = 9"), &[]).unwrap();
        assert_eq!(resolve(&scenario.to_toml(), &[]).unwrap(), scenario, "{rest}");
    }
}

/// A small drive of a large drive's preset has about the over-provisioning that is asked for, or is refused.
#[test]
fn no_capacity_brings_far_more_spare_space_than_is_asked_for() {
    let made = |preset: &str, drive: &str| {
        resolve(&format!("[drive]\npreset = '{preset}'\n{drive}\n[until]\ndrive-writes = 1"), &[])
    };
    for preset in ["tlc-enterprise-1.92t", "tlc-client-2t", "qlc-client-2t", "sata-tlc-480g", "mlc-8g"] {
        for capacity in ["4 GiB", "8 GiB", "32 GiB"] {
            let drive = format!("logical-capacity = '{capacity}'");
            let device = made(preset, &drive).unwrap_or_else(|error| panic!("{preset} {capacity}: {error}")).device;
            let (asked, surplus) = (over_provisioning_of(device.spare_factor), device.over_provisioning());
            assert!(surplus >= asked && surplus <= (1.5 * asked).max(asked + 0.05), "{preset} {capacity}: {surplus}");
        }
    }
    let cut = made("tlc-enterprise-1.92t", "logical-capacity = '8 GiB'").unwrap();
    assert!(cut.device.geometry.pages_per_block() < 2112);
    assert!(cut.unasked()[0].contains("instead of 2112"), "{:?}", cut.unasked());
    // What comes out, beside what was asked for.
    let told = format!(": {:.1} %, and not ", 100.0 * cut.device.over_provisioning());
    assert!(cut.unasked()[0].contains(&told), "{:?}", cut.unasked());
    assert_eq!(made("tlc-enterprise-1.92t", "").unwrap().unasked(), Vec::<String>::new());
    // A scenario's own blocks are not cut.
    let error = made("tlc-client-2t", "logical-capacity = '4 GiB'\npages-per-block = 2112").unwrap_err().to_string();
    assert!(error.contains("drive.logical-capacity: 4 GiB in ") && error.contains("where 9 % is asked for"), "{error}");
    let error = made("tlc-client-2t", "logical-capacity = '64 MiB'").unwrap_err().to_string();
    assert!(
        error.contains("drive.logical-capacity: 64 MiB in ") && error.contains("a larger capacity (128 GiB is enough)"),
        "{error}"
    );
}

#[test]
fn parity_that_takes_the_spare_space_is_told_before() {
    let told = |surplus: u32, pages: u32| {
        let text = format!(
            "[drive]\nchannels = 8\ndies-per-channel = 4\nblocks-per-plane = 96\npages-per-block = 64\nover-provisioning = '{surplus} %'\n\
             [ftl]\ngc-reserve = 4\nredundancy = {{ policy = 'stripes', data-pages = {pages} }}\n[until]\ndrive-writes = 4"
        );
        resolve(&text, &[]).unwrap().unasked().iter().any(|told| told.contains("may end early"))
    };
    // What lived four drive writes, and what ended within half of one, or with a write amplification beyond 30.
    for (surplus, pages, choked) in [
        (14, 31, true),
        (20, 31, false),
        (14, 15, true),
        (20, 15, true),
        (28, 15, false),
        (28, 7, true),
        (40, 7, false),
        (60, 3, true),
        (80, 3, false),
    ] {
        assert_eq!(told(surplus, pages), choked, "{surplus} % and stripes of {pages}");
    }
}
