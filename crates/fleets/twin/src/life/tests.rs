//! Expected errors of a drive compared with flash that errs page by page, and the effect of wear.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use super::*;

fn fleet(set: &[&str]) -> Fleet {
    Fleet::read(None, &set.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn lives(fleet: &Fleet) -> Vec<Life> {
    let stop = AtomicBool::new(false);
    fleet.slots().iter().map(|slot| live(fleet, slot, &stop).unwrap().unwrap()).collect()
}

/// The values of an attribute, a record each.
fn column(life: &Life, number: u16) -> &[i64] {
    &life.values[life.attributes.iter().position(|own| *own == number).unwrap()]
}

#[test]
fn expectations_hold_against_the_full_medium_on_twenty_drives() {
    for attributes in ["A", "B"] {
        let set = format!("model.0.attributes={attributes}");
        // Old enough for some pages to be sensed again, and that after many reads as after few.
        let aged = ["model.0.rated-erases=6000", "model.0.age-least=5000", "model.0.age-most=7000"];
        let base = [&["model.0.count=20", "days=60", "records=daily", &set][..], &aged[..]].concat();
        let expected = lives(&fleet(&base));
        let full = lives(&fleet(&[&base[..], &["medium=full"]].concat()));
        let (mut sums, mut worst) = ([0.0; 2], 0.0f64);
        for (one, other) in expected.iter().zip(&full) {
            assert_eq!(one.hours, other.hours);
            for number in one.attributes.iter().filter(|number| ![4, 184, 187].contains(*number)) {
                assert_eq!(column(one, *number), column(other, *number), "attribute {number}: state is one on both");
            }
            if attributes == "B" {
                for (one, other) in column(one, 4).iter().zip(column(other, 4)) {
                    worst = worst.max((*one as f64 / *other as f64 - 1.0).abs());
                }
            }
            for (sum, life) in sums.iter_mut().zip([one, other]) {
                *sum += *column(life, 184).last().unwrap() as f64;
            }
        }
        println!("{attributes}: pages sensed again {sums:?}, bits wrong off by at most {worst:.3}");
        assert!(worst < 0.05, "{worst}");
        assert!((sums[0] / sums[1] - 1.0).abs() < 0.02, "{sums:?}");
    }
}

#[test]
fn drives_wear_out_by_themselves_and_their_last_record_is_the_failure() {
    let set = [
        "model.0.count=4",
        "days=400",
        "records=daily",
        "model.0.rated-erases=200",
        "model.0.endurance=1",
        "workload.0.dwpd-mean=1",
        "hazards.random=0",
        "hazards.infant=0",
        "model.0.age-most=0",
    ];
    let text = "[[model]]\n[[workload]]\npattern = \"uniform\"\n[hazards]\n";
    let set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
    let fleet = Fleet::read(Some((std::path::Path::new("fleet.toml"), text)), &set).unwrap();
    let lives = lives(&fleet);
    let worn: Vec<&Life> = lives.iter().filter(|life| life.end.is_some()).collect();
    assert!(!worn.is_empty());
    for life in worn {
        let end = life.end.unwrap();
        assert_eq!((end.cause, end.with, end.warned), (Cause::WearOut, None, None));
        assert_eq!((end.day * 24.0) as u32, *life.hours.last().unwrap());
        assert!(*column(life, 173).last().unwrap() >= i64::from(life.erases_served) * 9 / 10);
        assert!(*column(life, 230).last().unwrap() > 80);
    }
}

#[test]
fn a_drive_that_would_have_worn_out_was_replaced_in_time() {
    let set = [
        "model.0.count=8",
        "days=5",
        "model.0.rated-erases=300",
        "model.0.endurance=1",
        "model.0.age-least=1000",
        "model.0.age-most=2000",
        "hazards.random=0",
        "hazards.infant=0",
        "hazards.bad-batches=0",
    ];
    for life in lives(&fleet(&set)) {
        assert!(!life.has_failed(), "{:?}", life.end);
        assert!(f64::from(life.erases_before) <= 0.9 * f64::from(life.erases_served));
        assert!(life.age_days < 2000.0 && column(&life, 9)[0] < (24.0 * life.age_days) as i64 + 24);
    }
}

#[test]
fn counters_never_fall_and_keep_their_proportions() {
    for life in lives(&fleet(&["model.0.count=6", "model.0.attributes=B", "days=40"])) {
        for number in [9, 12, 171, 172, 173, 174, 184, 187, 246, 247, 248] {
            assert!(column(&life, number).is_sorted(), "attribute {number}");
        }
        let (first, last) = (0, life.hours.len() - 1);
        let grown = |number| (column(&life, number)[last] - column(&life, number)[first]) as f64;
        // Requests of 256 KiB at any 4 KiB: 64 steps touch (64 + 3) / 4 pages.
        assert!((grown(246) / grown(247) - 32.0 * 64.0 / 67.0).abs() < 0.01, "{}", grown(246) / grown(247));
        assert!(grown(248) >= 0.0);
    }
}

#[test]
fn erases_that_no_host_wrote_are_not_told() {
    for (age, attributes) in [(0.0, "A"), (0.0, "B"), (5.0, "B"), (300.0, "B")] {
        let set = [
            format!("model.0.age-least={age}"),
            format!("model.0.age-most={age}"),
            format!("model.0.attributes={attributes}"),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).chain(["model.0.count=8", "days=30"]).collect();
        let fleet = fleet(&set);
        let model = &fleet.models[0];
        let pages = f64::from(model.scenario.device.geometry.blocks())
            * f64::from(model.scenario.device.geometry.pages_per_block());
        for life in lives(&fleet) {
            let last = life.hours.len() - 1;
            if attributes == "A" {
                assert_eq!((column(&life, 166)[0], column(&life, 173)[0]), (0, 0), "a new drive");
                continue;
            }
            // What is programmed is erased first; mean erases are told as whole ones, and blocks are written in part.
            let programmed = |at: usize| (column(&life, 247)[at] + column(&life, 248)[at]) as f64 / model.scale / pages;
            for at in [0, last] {
                let erases = column(&life, 173)[at] as f64;
                assert!(
                    (erases - programmed(at)).abs() < 1.5,
                    "age {age}: {erases} erases, {} programmed",
                    programmed(at)
                );
            }
        }
    }
}
