//! Estimates of `wane estimate` compared with runs of `wane run`: stand-ins, whose request order and sizes the models do not
//! know, and reads under load.

use wane_lab::build::PolicyOverrides;
use wane_lab::predict::{Prediction, STANDIN_ERRORS, StandinErrors, predict};
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::Summary;
use wane_scenario::{Scenario, Sources};
use wane_workload::standin::STANDINS;

use super::{Extent, Job, Part, Row};

/// Estimates of the eleven stand-ins.
pub(crate) fn standins() -> Part {
    Part {
        id: "estimates",
        title: "Estimates of stand-ins",
        compared: "write amplification by `wane estimate`: mean-field models of a popularity, which for all but FIFO is reduced to two \
                   temperatures. They do not know the order and the sizes of requests",
        reference: "the eighth drive write of a run of a drive of 1 GiB in blocks of 64 pages with a spare factor of 10 %, after a sequential fill; in \
                    the rows of all, ours is the error that `wane estimate` states with its answers",
        seeds: "seed 1",
        tolerance: "the highest error that `wane estimate` states, in whole percents",
        note: "the part checks estimates against their stated errors, not against the runs. Pages that are written together are also invalidated \
               together, and the \
               drive amplifies less than the model says: `lm-tbe` is written in sequence for 94 % of its requests, `ycsb-a` for half",
        takes: "10 seconds",
        jobs: standin_jobs,
    }
}

/// Estimates of reads with Poisson arrivals.
pub(crate) fn reads() -> Part {
    Part {
        id: "read-estimates",
        title: "Estimates of reads",
        compared: "latency of reads by `wane estimate`: M/G/1 queues of dies, with reads, programs and victims as batch work",
        reference: "200,000 Poisson reads and writes by the `event` scheduler on drives of 4 channels that are aged by four drive writes \
                    and collect garbage by die",
        seeds: "seed 1",
        tolerance: "5 % of a mean, 15 % of a 99th percentile",
        note: "dies that are busy for more than 70 % of the time are not predicted",
        takes: "30 seconds",
        jobs: read_jobs,
    }
}

fn resolved(text: &str) -> Scenario {
    Scenario::resolve(&Sources { preset: None, file: Some(("validation", text)), set: &[] })
        .unwrap_or_else(|error| unreachable!("the scenario is written here: {error}"))
}

fn both(text: &str) -> (Prediction, Summary) {
    let scenario = resolved(text);
    let predicted = predict(&scenario).unwrap_or_else(|error| unreachable!("there is a model: {error}"));
    let mut watch = Watch { step: &mut |_| {}, stop: &std::sync::Arc::default() };
    let ran = session::execute(&scenario, &PolicyOverrides::default(), &mut watch)
        .unwrap_or_else(|error| unreachable!("a small run gives a result: {error}"));
    (predicted, ran.summary)
}

fn amplification(ran: &Summary) -> f64 {
    ran.write_amplification.last_drive_write.gc.unwrap_or(f64::NAN)
}

fn standin_jobs(extent: Extent) -> Vec<Job> {
    STANDIN_ERRORS.into_iter().map(|stated| -> Job { Box::new(move || of_policy(stated, extent)) }).collect()
}

fn of_policy(stated: StandinErrors, extent: Extent) -> Vec<Row> {
    let gc = if stated.gc == "d-choices" {
        "{ policy = 'd-choices', d = 3 }".to_owned()
    } else {
        format!("'{}'", stated.gc)
    };
    let most = stated.lowest.abs().max(stated.highest.abs()) + 0.5;
    let wanted = |name: &str| extent == Extent::Full || ["vdi", "dap-ps"].contains(&name);
    let mut rows: Vec<Row> = STANDINS
        .iter()
        .filter(|standin| wanted(standin.name))
        .map(|standin| {
            let (predicted, ran) = both(&format!(
                "[drive]\nlogical-capacity = '1 GiB'\npages-per-block = 64\nspare-factor = '10 %'\n[ftl]\ngc = {gc}\n[precondition]\n\
                 sequential-drive-writes = 1\nrandom-drive-writes = 0\n[workload]\nstandin = '{}'\n[until]\ndrive-writes = 8\n",
                standin.name
            ));
            let want = amplification(&ran);
            let cell = format!("{}; {}", standin.name, stated.gc);
            Row::exact(cell, "write amplification", predicted.write_amplification, want, most / 100.0 * want)
        })
        .collect();
    if extent == Extent::Full {
        let mut ratios: Vec<f64> = rows.iter().map(|row| row.ours / row.reference).collect();
        ratios.sort_by(f64::total_cmp);
        let found = [ratios[0], ratios[ratios.len() / 2], ratios[ratios.len() - 1]];
        let said = [stated.lowest, stated.median, stated.highest].map(|percent| 1.0 + percent / 100.0);
        let figures = ["lowest estimate / run", "median estimate / run", "highest estimate / run"];
        let of_all = |((figure, said), found)| Row::exact(format!("all; {}", stated.gc), figure, said, found, 0.005);
        rows.extend(figures.into_iter().zip(said).zip(found).map(of_all));
    }
    rows
}

/// A drive, the order of its operations, its victims, and its requests.
#[derive(Clone, Copy)]
struct Served {
    drive: Shape,
    order: Order,
    gc: &'static str,
    /// Whether aging and probe have two temperatures.
    is_mixed: bool,
    read_share: f64,
    gap_us: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Plain,
    /// Four mapping units a page.
    LargePages,
    /// Four dies a channel.
    ManyDies,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    FirstCome,
    /// Reads go first, and may interrupt collection.
    ReadsFirst,
    /// Collection takes no time.
    FreeCollection,
}

const GREEDY: &str = "'greedy'";
const TWO_CHOICES: &str = "{ policy = 'd-choices', d = 2 }";

const SERVED: [Served; 14] = {
    const fn of(drive: Shape, order: Order, gc: &'static str, is_mixed: bool, read_share: f64, gap_us: u32) -> Served {
        Served { drive, order, gc, is_mixed, read_share, gap_us }
    }
    [
        of(Shape::Plain, Order::FirstCome, GREEDY, false, 0.7, 280),
        of(Shape::Plain, Order::ReadsFirst, GREEDY, false, 0.7, 280),
        of(Shape::LargePages, Order::FirstCome, GREEDY, false, 0.7, 100),
        of(Shape::Plain, Order::FreeCollection, GREEDY, false, 0.5, 150),
        of(Shape::Plain, Order::FirstCome, GREEDY, false, 0.7, 1200),
        of(Shape::Plain, Order::FirstCome, GREEDY, false, 0.95, 60),
        of(Shape::Plain, Order::ReadsFirst, GREEDY, false, 0.9, 100),
        of(Shape::Plain, Order::FirstCome, TWO_CHOICES, false, 0.7, 400),
        of(Shape::Plain, Order::ReadsFirst, "'random'", false, 0.7, 450),
        of(Shape::LargePages, Order::ReadsFirst, GREEDY, false, 0.5, 130),
        of(Shape::ManyDies, Order::FirstCome, GREEDY, false, 0.8, 60),
        of(Shape::ManyDies, Order::ReadsFirst, GREEDY, false, 0.95, 20),
        of(Shape::Plain, Order::FirstCome, GREEDY, true, 0.7, 280),
        of(Shape::Plain, Order::ReadsFirst, GREEDY, true, 0.7, 280),
    ]
};

/// Number of these that run quickly and cover all parts of the model.
const QUICK: usize = 4;

impl Served {
    fn text(&self) -> String {
        let drive = match self.drive {
            Shape::Plain => "blocks-per-plane = 1024",
            Shape::LargePages => "blocks-per-plane = 1024\npage-size = '16 KiB'\nmapping-unit = '4 KiB'",
            Shape::ManyDies => "dies-per-channel = 4\nblocks-per-plane = 512",
        };
        let time = match self.order {
            Order::FirstCome => "",
            Order::ReadsFirst => "order = 'priority'\nread-priority = true\ngc = 'preemptible'",
            Order::FreeCollection => "gc = 'free'",
        };
        let (life, probed) = if self.is_mixed {
            ("pattern = 'hot-cold'\nr = 0.8\nh = 0.2", "pattern = 'hot-cold', r = 0.8, h = 0.2, ")
        } else {
            ("pattern = 'uniform'", "")
        };
        let Self { gc, read_share, gap_us, .. } = self;
        format!(
            "[drive]\nchannels = 4\npages-per-block = 32\nspare-factor = '20 %'\n{drive}\n[drive.timing]\nread = '60 us'\nprogram = '600 us'\n\
             erase = '3 ms'\nchannel-rate = '400 MB/s'\n[ftl]\ndomain = 'die'\ngc = {gc}\n[time]\nscheduler = 'event'\n{time}\n[workload]\n{life}\n\
             [probe]\nat-drive-writes = [4]\nuntil = {{ requests = 200_000 }}\nworkload = {{ {probed}read-share = {read_share}, arrival = {{ poisson = \
             '{gap_us} us' }} }}\n[until]\ndrive-writes = 4\n"
        )
    }

    fn name(&self) -> String {
        let order = match self.order {
            Order::FirstCome => "first come, first served",
            Order::ReadsFirst => "reads first",
            Order::FreeCollection => "free collection",
        };
        let drive = match self.drive {
            Shape::Plain => "",
            Shape::LargePages => "; 16 KiB pages",
            Shape::ManyDies => "; 16 dies",
        };
        let gc = match self.gc {
            GREEDY => "greedy",
            TWO_CHOICES => "d-choices, d = 2",
            _ => "random",
        };
        let traffic = if self.is_mixed { "80/20" } else { "uniform" };
        format!("{gc}; {traffic}; {order}{drive}; {:.0} % reads, one in {} us", 100.0 * self.read_share, self.gap_us)
    }

    fn rows(&self) -> Vec<Row> {
        let (predicted, ran) = both(&self.text());
        let want = ran.latency.and_then(|latency| latency.read).map(|read| read.times);
        // A figure that one of them lacks is NaN, and differs.
        let of = |found: Option<f64>| found.unwrap_or(f64::NAN);
        let mean = of(want.as_ref().map(|times| times.mean_ns / 1e3));
        let tail = of(want.as_ref().map(|times| times.p99_ns as f64 / 1e3));
        let told = predicted.reads.as_ref();
        vec![
            Row::exact(self.name(), "mean, us", of(told.map(|told| told.mean / 1e3)), mean, 0.05 * mean),
            Row::exact(self.name(), "p99, us", of(told.map(|told| told.quantile(0.99) / 1e3)), tail, 0.15 * tail),
        ]
    }
}

fn read_jobs(extent: Extent) -> Vec<Job> {
    let served = if extent == Extent::Quick { &SERVED[..QUICK] } else { &SERVED };
    served.iter().map(|served| -> Job { Box::new(|| served.rows()) }).collect()
}
