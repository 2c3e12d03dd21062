//! The comparison against values computed by hand, and the inputs that it refuses.

use super::*;

#[test]
fn the_papers_inputs_come_to_values_by_hand() {
    let found = compare(&Inputs::default()).unwrap();
    let by_hand = [
        (found.read_iops_gain, 12.915_344),
        (found.power_ratio_min, 2.666_667),
        (found.power_ratio_max, 3.666_667),
        (found.iops_per_watt_ratio_min, 34.440_917),
        (found.iops_per_watt_ratio_max, 47.356_261),
        (found.ssd_interface_pb, 4.5),
        (found.interface_gain_min, 0.285_714),
        (found.interface_gain_max, 0.8),
        (found.raid5_mb_per_s, 200.0),
        (found.raid6_mb_per_s, 250.0),
        (found.raid5_read_iops, 945.0),
        (found.raid6_read_iops, 1323.0),
        (found.raid5_drives_for_throughput, 5.0),
        (found.raid6_drives_for_throughput, 6.0),
        (found.drives_for_read_iops, 13.0),
        (found.raid5_dollars_per_drive_gb, 0.10),
        (found.raid6_dollars_per_drive_gb, 0.14),
        (found.raid5_dollars_per_usable_gb, 0.025),
        (found.raid6_dollars_per_usable_gb, 0.028),
        (found.raid5_watts_min, 40.0),
        (found.raid6_watts_max, 77.0),
        (found.hdd_dollars_per_read_iops, 1.481_481),
        (found.ssd_dollars_per_read_iops, 0.373_617),
        (found.hdd_2u_tb, 168.0),
        (found.fast_hdd_2u_tb, 28.8),
        (found.ssd_2u_tb, 182.4),
        (found.density_gain, 0.085_714),
    ];
    for (place, (ours, hand)) in by_hand.into_iter().enumerate() {
        assert!((ours - hand).abs() < 1e-6, "{place}: {ours}, by hand {hand}");
    }
}

#[test]
fn inputs_keep_their_order_and_figures_their_names() {
    let values = INPUTS.map(|input| input.value);
    assert_eq!(Inputs::from_values(values), Inputs::default());
    assert_eq!(Inputs::default().values(), values);
    let figures = compare(&Inputs::default()).unwrap();
    let place = FIGURES.iter().position(|name| *name == "ssd_interface_pb").unwrap();
    assert_eq!(figures.values()[place], figures.ssd_interface_pb);
    for input in INPUTS {
        assert!(!input.unit.is_empty() && input.source.len() > 10, "{} says where it comes from", input.name);
    }
}

#[test]
fn defaults_are_the_row_of_table_5_3_and_its_qlc_is_brand_c() {
    let (inputs, [disk, .., qlc]) = (Inputs::default(), COMPARED);
    assert_eq!((inputs.hdd_read_iops, inputs.hdd_random_mb_per_s, inputs.hdd_dollars_per_gb), (189.0, 50.0, 0.02));
    assert_eq!((disk.read_iops, disk.random_mb_per_s, disk.dollars_per_gb), (189.0, 50.0, 0.02));
    assert_eq!(
        (inputs.ssd_read_iops, inputs.ssd_random_mb_per_s, inputs.ssd_dollars_per_gb),
        (qlc.read_iops, qlc.random_mb_per_s, qlc.dollars_per_gb)
    );
    let brands = COMPARED.map(|kind| kind.brand().map(|drive| (drive.brand, drive.cells)));
    assert_eq!(brands, [None, Some(('A', "eMLC")), Some(('B', "TLC")), Some(('C', "QLC"))]);
}

#[test]
fn iops_and_latency_of_table_5_2_are_four_requests_in_flight() {
    for drive in BENCHMARKED {
        for side in [drive.write, drive.read] {
            assert!((side.outstanding() - 4.0).abs() < 0.1, "{}: {}", drive.brand, side.outstanding());
        }
    }
}

#[test]
fn what_is_no_price_is_refused_in_a_sentence() {
    let of = |change: fn(&mut Inputs)| {
        let mut inputs = Inputs::default();
        change(&mut inputs);
        compare(&inputs).unwrap_err().to_string()
    };
    type Change = fn(&mut Inputs);
    let table: [(Change, &str); 8] = [
        (|of| of.ssd_watts = 0.0, "ssd_watts: found 0, allowed is a number above 0"),
        (|of| of.hdd_dollars_per_gb = f64::NAN, "hdd_dollars_per_gb: found NaN, allowed is a number above 0"),
        (|of| of.hdd_tb = f64::INFINITY, "hdd_tb: found inf, allowed is a number above 0"),
        (|of| of.ssd_write_share = 1.5, "ssd_write_share: found 1.5, allowed is 0 to 1"),
        (|of| of.hdd_watts_min = 12.0, "hdd_watts_max: found 11, allowed is a number from 12 on"),
        (|of| of.hdd_interface_pb_max = 1.0, "hdd_interface_pb_max: found 1, allowed is a number from 2.5 on"),
        (|of| of.raid6_drives = 3.0, "raid6_drives: found 3, allowed is a whole number from 4 to 1000000"),
        (|of| of.ssd_bays = 2.5, "ssd_bays: found 2.5, allowed is a whole number from 1 to 1000000"),
    ];
    for (change, sentence) in table {
        assert_eq!(of(change), sentence);
    }
}

#[test]
fn ownership_is_price_and_energy_by_hand() {
    let owned = Owned {
        drives: 5.0,
        dollars_per_gb: 0.02,
        gigabytes: 14_000.0,
        watts: 8.0,
        years: 5.0,
        dollars_per_kwh: 0.1,
        power_usage_effectiveness: 1.5,
    };
    let cost = ownership(&owned).unwrap();
    // 0.04 kW x 43,800 h x 1.5 x 0.1 $.
    assert!((cost.purchase - 1400.0).abs() < 1e-9 && (cost.energy - 262.8).abs() < 1e-9, "{cost:?}");
    assert!((cost.total - 1662.8).abs() < 1e-9);
    let refused = ownership(&Owned { power_usage_effectiveness: 0.9, ..owned }).unwrap_err();
    assert_eq!(refused.to_string(), "power_usage_effectiveness: found 0.9, allowed is 1 to 10");
    assert!(ownership(&Owned { dollars_per_kwh: 0.0, ..owned }).is_ok());
}
