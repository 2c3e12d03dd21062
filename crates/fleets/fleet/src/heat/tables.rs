//! The tables of 002, chapter 6, as printed.

use super::{Benchmark, Load, Metric, Model, Op};
use crate::Named;

/// Temperatures around the drives under fio, in °C.
pub const FIO_CELSIUS: [f64; 3] = [25.0, 35.0, 50.0];

/// Temperatures around the drives under replayed loads, in °C.
pub const REPLAY_CELSIUS: [f64; 4] = [25.0, 35.0, 45.0, 50.0];

/// The two of [`REPLAY_CELSIUS`] that each of the six p-values of a load compares.
pub const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// Results of a replayed load: throughput in MB/s at [`REPLAY_CELSIUS`], p-values of [`PAIRS`].
struct Replayed {
    reads: Option<[f64; 4]>,
    writes: [f64; 4],
    p_reads: Option<[f64; 6]>,
    p_writes: [f64; 6],
}

/// fio's measurements at [`FIO_CELSIUS`], in MB/s, operations per second or microseconds: means of three drives (002, tables 6.4 and 6.5).
pub fn measured(model: Model, benchmark: Benchmark, metric: Metric) -> [f64; 3] {
    let table = match model {
        Model::A => &MEASURED_A,
        Model::B => &MEASURED_B,
    };
    table[benchmark.row()][metric.row()]
}

/// The printed degradations from 25 to 35 and to 50 °C, in percent (002, tables 6.6 and 6.7).
pub fn printed_degradation(model: Model, benchmark: Benchmark, metric: Metric) -> [f64; 2] {
    let table = match model {
        Model::A => &PRINTED_A,
        Model::B => &PRINTED_B,
    };
    table[benchmark.row()][metric.row()]
}

/// The printed p-value of 25 against 50 °C (002, tables 6.8 and 6.9). The number of runs is not stated.
pub fn printed_p_value(model: Model, benchmark: Benchmark, metric: Metric) -> f64 {
    let table = match model {
        Model::A => &P_A,
        Model::B => &P_B,
    };
    table[benchmark.row()][metric.row()]
}

fn row(model: Model, load: Load) -> &'static Replayed {
    match model {
        Model::A => &REPLAYED_A[load.row()],
        Model::B => &REPLAYED_B[load.row()],
    }
}

/// Mean throughput of 100 replays at [`REPLAY_CELSIUS`], in MB/s (002, tables 6.12 and 6.13); `None` if the load has none in this direction.
pub fn replayed(model: Model, load: Load, op: Op) -> Option<[f64; 4]> {
    let row = row(model, load);
    match op {
        Op::Read => row.reads,
        Op::Write => Some(row.writes),
    }
}

/// The printed p-values of [`PAIRS`] (002, tables 6.14 to 6.17); `None` if the load has none in this direction.
pub fn replay_p_values(model: Model, load: Load, op: Op) -> Option<[f64; 6]> {
    let row = row(model, load);
    match op {
        Op::Read => row.p_reads,
        Op::Write => Some(row.p_writes),
    }
}

/// Model A (002, table 6.4).
const MEASURED_A: [[[f64; 3]; 3]; 6] = [
    [[489.20, 462.68, 419.34], [111154.06, 61741.12, 81527.78], [39.19, 44.20, 47.46]],
    [[1339.71, 1142.67, 686.95], [84253.43, 64027.69, 76975.22], [18.04, 20.60, 19.35]],
    [[518.89, 455.17, 442.80], [119787.16, 67122.74, 90618.69], [25.19, 41.22, 43.79]],
    [[1288.10, 1144.08, 698.58], [82767.31, 63223.44, 80812.20], [18.11, 20.99, 19.20]],
    [[1652.14, 1316.74, 387.29], [84779.91, 71160.59, 42219.64], [100.48, 101.42, 130.45]],
    [[273.28, 265.02, 174.75], [35946.24, 28676.39, 18579.51], [34.61, 40.43, 95.95]],
];

/// Model B (002, table 6.5).
const MEASURED_B: [[[f64; 3]; 3]; 6] = [
    [[594.57, 580.60, 425.38], [135355.45, 138732.57, 108127.24], [17.95, 16.57, 17.98]],
    [[1368.11, 1302.76, 1112.41], [323729.82, 332679.82, 284557.43], [12.04, 10.95, 12.12]],
    [[594.38, 580.40, 434.41], [135254.17, 138623.00, 109172.18], [17.94, 16.46, 17.70]],
    [[1368.32, 1303.44, 1078.78], [322955.72, 332516.35, 275316.90], [12.15, 11.08, 12.19]],
    [[1368.12, 1302.08, 1083.03], [324254.89, 442449.81, 275220.02], [12.19, 10.98, 12.32]],
    [[587.19, 577.45, 419.91], [134667.87, 138015.14, 105696.33], [17.69, 16.52, 17.72]],
];

/// Model A (002, table 6.6).
const PRINTED_A: [[[f64; 2]; 3]; 6] = [
    [[5.42, 14.28], [44.45, 26.65], [12.78, 21.10]],
    [[14.71, 48.72], [24.01, 8.64], [14.21, 7.28]],
    [[12.28, 14.66], [43.97, 24.35], [63.64, 73.84]],
    [[11.18, 45.77], [23.61, 2.36], [15.88, 5.95]],
    [[20.40, 76.56], [16.06, 50.20], [0.93, 29.82]],
    [[3.02, 36.05], [20.22, 48.31], [16.80, 177.20]],
];

/// Model B (002, table 6.7).
const PRINTED_B: [[[f64; 2]; 3]; 6] = [
    [[2.35, 28.46], [-2.50, 20.12], [-7.69, 0.17]],
    [[4.78, 18.69], [-2.76, 12.10], [-9.05, 0.66]],
    [[2.35, 26.91], [-2.49, 19.28], [-8.25, -1.34]],
    [[4.74, 21.16], [-2.96, 14.75], [-8.81, 0.33]],
    [[4.83, 20.84], [-36.45, 15.12], [-9.93, 1.07]],
    [[1.66, 28.49], [-2.49, 21.51], [-6.61, 0.17]],
];

/// Model A (002, tables 6.12, 6.14 and 6.15).
const REPLAYED_A: [Replayed; 8] = [
    Replayed {
        reads: Some([1411.26, 1426.44, 1443.36, 1258.60]),
        writes: [5.21, 5.26, 5.33, 4.64],
        p_reads: Some([5.20e-5, 4.44e-15, 3.90e-51, 8.11e-6, 3.20e-57, 6.77e-63]),
        p_writes: [5.09e-5, 4.12e-15, 4.10e-51, 8.09e-6, 3.38e-57, 6.94e-63],
    },
    Replayed {
        reads: Some([82.32, 84.57, 82.96, 75.118]),
        writes: [777.51, 798.68, 783.61, 710.82],
        p_reads: Some([3.94e-2, 5.57e-1, 8.52e-10, 6.04e-27, 1.51e-99, 8.56e-76]),
        p_writes: [3.81e-2, 5.51e-1, 8.73e-10, 2.74e-27, 5.98e-100, 3.84e-76],
    },
    Replayed {
        reads: Some([1325.00, 1333.22, 1346.66, 1211.80]),
        writes: [39.89, 40.15, 40.57, 36.48],
        p_reads: Some([3.04e-1, 8.04e-3, 3.17e-29, 4.30e-4, 1.07e-66, 4.07e-71]),
        p_writes: [2.77e-1, 5.98e-3, 4.14e-29, 4.62e-4, 2.95e-65, 1.97e-70],
    },
    Replayed {
        reads: Some([0.09, 0.09, 0.09, 0.08]),
        writes: [878.88, 879.34, 842.89, 766.32],
        p_reads: Some([6.74e-1, 1.13e-20, 2.03e-58, 6.71e-21, 1.39e-58, 6.78e-27]),
        p_writes: [4.22e-1, 1.88e-19, 2.15e-58, 7.56e-20, 1.13e-58, 1.33e-27],
    },
    Replayed {
        reads: Some([73.68, 79.15, 78.19, 65.74]),
        writes: [710.12, 763.13, 754.11, 633.71],
        p_reads: Some([1.07e-3, 6.82e-3, 5.55e-5, 9.54e-17, 2.16e-29, 2.56e-26]),
        p_writes: [9.92e-4, 6.15e-3, 5.71e-5, 2.10e-17, 1.76e-29, 1.82e-26],
    },
    Replayed {
        reads: Some([118.85, 120.49, 117.44, 101.64]),
        writes: [758.67, 768.89, 749.81, 649.03],
        p_reads: Some([2.21e-1, 5.13e-1, 4.23e-26, 7.39e-2, 3.27e-102, 1.80e-16]),
        p_writes: [2.32e-1, 5.19e-1, 4.37e-26, 7.82e-2, 2.70e-103, 1.22e-16],
    },
    Replayed {
        reads: Some([223.07, 221.57, 218.84, 181.62]),
        writes: [534.30, 530.71, 524.31, 435.12],
        p_reads: Some([7.91e-1, 3.77e-1, 7.53e-16, 6.04e-1, 8.05e-13, 1.31e-15]),
        p_writes: [7.91e-1, 3.84e-1, 7.78e-16, 6.13e-1, 8.41e-13, 1.24e-15],
    },
    Replayed {
        reads: None,
        writes: [167.45, 167.52, 165.48, 155.26],
        p_reads: None,
        p_writes: [9.08e-1, 3.25e-3, 4.47e-15, 1.07e-3, 1.47e-15, 2.15e-11],
    },
];

/// Model B (002, tables 6.13, 6.16 and 6.17).
const REPLAYED_B: [Replayed; 8] = [
    Replayed {
        reads: Some([1251.92, 1248.90, 1242.98, 931.92]),
        writes: [4.64, 4.63, 4.60, 3.45],
        p_reads: Some([2.92e-1, 1.38e-2, 2.04e-107, 1.19e-1, 1.35e-105, 1.40e-100]),
        p_writes: [2.88e-1, 1.35e-2, 1.85e-107, 1.19e-1, 1.29e-105, 1.32e-100],
    },
    Replayed {
        reads: Some([127.99, 127.83, 127.40, 85.49]),
        writes: [530.67, 529.74, 527.88, 354.63],
        p_reads: Some([4.64e-2, 8.67e-10, 6.21e-117, 4.58e-4, 2.88e-116, 2.47e-115]),
        p_writes: [1.26e-2, 6.04e-14, 3.64e-117, 2.00e-4, 2.55e-116, 1.59e-115],
    },
    Replayed {
        reads: Some([1179.52, 1174.62, 1173.83, 898.39]),
        writes: [38.97, 38.78, 38.78, 29.67],
        p_reads: Some([8.05e-2, 9.46e-2, 6.23e-91, 8.19e-1, 2.45e-89, 7.88e-87]),
        p_writes: [5.45e-2, 1.06e-1, 3.99e-90, 9.66e-1, 5.29e-88, 3.41e-86],
    },
    Replayed {
        reads: Some([0.06, 0.06, 0.06, 0.04]),
        writes: [586.81, 588.60, 576.44, 357.49],
        p_reads: Some([6.49e-13, 6.03e-8, 7.73e-168, 2.56e-12, 1.94e-169, 5.46e-149]),
        p_writes: [1.62e-12, 1.18e-9, 1.70e-169, 2.38e-12, 4.29e-170, 1.73e-149],
    },
    Replayed {
        reads: Some([50.61, 50.55, 51.09, 32.85]),
        writes: [562.66, 564.17, 565.51, 364.28],
        p_reads: Some([4.58e-1, 5.88e-10, 1.03e-120, 4.38e-17, 3.60e-121, 4.72e-124]),
        p_writes: [1.86e-2, 1.13e-4, 1.46e-122, 2.95e-4, 1.97e-124, 1.38e-124],
    },
    Replayed {
        reads: Some([95.80, 96.17, 96.03, 65.69]),
        writes: [537.14, 539.01, 538.17, 368.47],
        p_reads: Some([2.86e-9, 4.39e-5, 9.72e-62, 1.85e-2, 1.59e-62, 3.09e-62]),
        p_writes: [5.80e-10, 2.14e-4, 9.50e-62, 5.89e-3, 1.88e-62, 3.88e-62],
    },
    Replayed {
        reads: Some([198.95, 199.70, 199.51, 127.20]),
        writes: [490.39, 491.57, 491.19, 313.28],
        p_reads: Some([3.67e-13, 8.22e-7, 4.66e-200, 1.24e-1, 1.89e-200, 8.95e-200]),
        p_writes: [4.12e-7, 2.57e-3, 9.18e-200, 1.64e-1, 3.50e-200, 1.56e-199],
    },
    Replayed {
        reads: None,
        writes: [437.59, 441.89, 444.79, 444.46],
        p_reads: None,
        p_writes: [2.73e-2, 1.65e-4, 3.77e-4, 1.37e-1, 1.93e-1, 8.63e-1],
    },
];

/// Model A (002, table 6.8).
const P_A: [[f64; 3]; 6] = [
    [1.91e-1, 1.78e-2, 4.49e-1],
    [9.95e-5, 8.80e-2, 9.59e-2],
    [8.51e-4, 1.16e-3, 1.32e-1],
    [7.26e-4, 4.76e-2, 1.68e-1],
    [1.79e-8, 5.94e-7, 1.09e-4],
    [3.70e-3, 1.13e-2, 3.81e-2],
];

/// Model B (002, table 6.9).
const P_B: [[f64; 3]; 6] = [
    [8.85e-5, 1.17e-4, 8.39e-1],
    [7.41e-4, 4.52e-3, 4.01e-1],
    [3.51e-5, 2.81e-4, 5.56e-1],
    [9.12e-4, 2.80e-3, 2.49e-1],
    [9.59e-4, 1.94e-3, 8.49e-1],
    [1.01e-4, 2.04e-4, 2.10e-1],
];
