//! Queues with known mean waits: references for a scheduler's waiting times.
//!
//! Times are in any one unit, rates in its inverse. A wait does not include the service itself.

mod reads;

pub use reads::{Collection, Die, LOAD_MAX, Precedence, ReadTimes, reads};

/// A class of customers with its own arrivals and service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Arrivals, Poisson.
    pub rate: f64,
    /// Mean service time.
    pub service: f64,
    /// Mean of the squared service time.
    pub service_squared: f64,
}

impl Class {
    /// A class whose service always takes `service`.
    pub fn fixed(rate: f64, service: f64) -> Self {
        Self { rate, service, service_squared: service * service }
    }

    /// Share of a server's time that this class uses.
    pub fn load(&self) -> f64 {
        self.rate * self.service
    }
}

/// Mean wait in an M/G/1 queue: rate E\[S^2\] / (2 (1 - load)). Source: Pollaczek and Khinchine. Infinite from a load of 1 on.
pub fn mg1_wait(class: Class) -> f64 {
    cobham_waits(&[class])[0]
}

/// Mean wait in an M/D/1 queue: load x service / (2 (1 - load)). Infinite from a load of 1 on.
pub fn md1_wait(rate: f64, service: f64) -> f64 {
    mg1_wait(Class::fixed(rate, service))
}

/// Mean wait of each class in an M/G/1 queue that serves the first class first and does not interrupt a service.
///
/// W_k = R / ((1 - s_(k-1)) (1 - s_k)) with the mean residual service R = sum of rate E\[S^2\] / 2 over all classes and s_k
/// W_k = R / ((1 - s_(k-1)) (1 - s_k)) with the mean residual service R = sum of rate E\[S^2\] / 2 over all classes and s_k the
/// load of the first k. Source: A. Cobham, "Priority assignment in waiting line problems", 1954. The wait of a class is infinite
/// if the loads up to it reach 1.
pub fn cobham_waits(classes: &[Class]) -> Vec<f64> {
    let residual: f64 = classes.iter().map(|class| class.rate * class.service_squared / 2.0).sum();
    let mut load = 0.0;
    let wait = |class: &Class| {
        let before = 1.0 - load;
        load += class.load();
        if load < 1.0 { residual / (before * (1.0 - load)) } else { f64::INFINITY }
    };
    classes.iter().map(wait).collect()
}

/// Mean wait in an M/D/c queue, exact: service x sum over i of P(N_i >= i c) - P(N_i > i c) / load per server, where N_i
/// is Poisson with mean i x rate x service.
///
/// With a fixed service time customer n waits only for customer n - c (C. D. Crommelin, "Delay probability formulae when the
/// holding times are constant", 1932). So waits follow a random walk, whose mean maximum is Spitzer's sum. It is summed until a
/// term is below 10^-13 of the sum. Infinite from a load of 1 a server on.
pub fn mdc_wait(rate: f64, service: f64, servers: u32) -> f64 {
    let offered = rate * service;
    let load = offered / f64::from(servers);
    if load >= 1.0 {
        return f64::INFINITY;
    }
    if load <= 0.0 {
        return 0.0;
    }
    let mut sum = 0.0;
    for round in 1..10_000_000u32 {
        let (mean, least) = (f64::from(round) * offered, f64::from(round) * f64::from(servers));
        let (at, above) = poisson_tail(mean, least);
        let term = at - (1.0 / load - 1.0) * above;
        sum += term;
        if term.abs() < 1e-13 * sum {
            break;
        }
    }
    service * sum
}

/// P(N = least) and P(N > least) of a Poisson variable with a mean below `least`.
fn poisson_tail(mean: f64, least: f64) -> (f64, f64) {
    debug_assert!(mean < least, "the terms fall from {least} on, so that their sum ends");
    let at = libm::exp(least * libm::log(mean) - mean - libm::lgamma(least + 1.0));
    let (mut term, mut above, mut count) = (at, 0.0, least);
    loop {
        count += 1.0;
        term *= mean / count;
        above += term;
        if term <= 1e-17 * above {
            return (at, above);
        }
    }
}

/// Least and most throughput of a closed loop. Each of `customers` customers visits every station, one after another, for these
/// total times, without a delay between rounds.
///
/// Most: the busiest station is always busy, or no customer ever waits. Least: every customer always waits for all others at the
/// busiest station. Source: E. D. Lazowska et al., "Quantitative System Performance", 1984, chapter 5.
pub fn closed_loop_throughput(demands: &[f64], customers: f64) -> (f64, f64) {
    let total: f64 = demands.iter().sum();
    let largest = demands.iter().copied().fold(0.0, f64::max);
    assert!(largest > 0.0, "a round takes time, or its throughput has no bound");
    (customers / (total + (customers - 1.0) * largest), f64::min(customers / total, 1.0 / largest))
}

/// Most reads a unit of time that the dies can serve, and that the channels can serve. A die is held while it senses and while
/// its data move.
pub fn read_ceilings(dies: u32, channels: u32, sense: f64, transfer: f64) -> (f64, f64) {
    (f64::from(dies) / (sense + transfer), f64::from(channels) / transfer)
}

/// Mean and variance of a binomial variable.
pub fn binomial_moments(trials: u32, probability: f64) -> (f64, f64) {
    let mean = f64::from(trials) * probability;
    (mean, mean * (1.0 - probability))
}

/// P(N <= `most`) of a binomial variable, summed from the shorter side of the mode. Within 10^-10. `probability` is strictly
/// between 0 and 1.
pub fn binomial_cdf(trials: u32, probability: f64, most: u32) -> f64 {
    if most >= trials {
        return 1.0;
    }
    assert!(0.0 < probability && probability < 1.0, "the terms are ratios of {probability} and what is left of 1");
    let (n, odds) = (f64::from(trials), probability / (1.0 - probability));
    let log = |count: f64| {
        libm::lgamma(n + 1.0) - libm::lgamma(count + 1.0) - libm::lgamma(n - count + 1.0)
            + count * libm::log(probability)
            + (n - count) * libm::log1p(-probability)
    };
    let below = f64::from(most) < n * probability;
    let (mut count, mut sum) = (f64::from(most) + if below { 0.0 } else { 1.0 }, 0.0);
    let mut term = libm::exp(log(count));
    while term > 1e-18 * sum && (0.0..=n).contains(&count) {
        sum += term;
        term *= if below { count / (odds * (n - count + 1.0)) } else { odds * (n - count) / (count + 1.0) };
        count += if below { -1.0 } else { 1.0 };
    }
    if below { sum } else { 1.0 - sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_of_many_is_the_single_server() {
        for load in [0.05, 0.3, 0.5, 0.8, 0.95, 0.99] {
            let (one, many) = (md1_wait(load, 1.0), mdc_wait(load, 1.0, 1));
            assert!((many / one - 1.0).abs() < 1e-6, "{load}: {many} for {one}");
        }
    }

    #[test]
    fn waits_at_several_servers_match_the_equilibrium_equations() {
        // Crommelin's equations p_j = P(N = j) (p_0 + ... + p_c) + sum of p_(c+k) P(N = j - k), iterated to rest; the mean
        // queue over the rate is the wait.
        for (servers, load) in [(2usize, 0.5), (2, 0.8), (8, 0.5), (8, 0.9), (3, 0.95)] {
            let offered = servers as f64 * load;
            let size = 1200;
            let arrivals: Vec<f64> = (0..size)
                .scan(libm::exp(-offered), |term, count| {
                    let now = *term;
                    *term *= offered / (count as f64 + 1.0);
                    Some(now)
                })
                .collect();
            let mut states = vec![0.0; size];
            states[0] = 1.0;
            for _ in 0..4000 {
                let mut left = vec![0.0; size - servers];
                left[0] = states[..=servers].iter().sum();
                left[1..].copy_from_slice(&states[servers + 1..]);
                let mut next = vec![0.0; size];
                for (after, share) in left.iter().enumerate().filter(|(_, share)| **share > 1e-18) {
                    for (slot, arrive) in next[after..].iter_mut().zip(arrivals.iter().take(80)) {
                        *slot += share * arrive;
                    }
                }
                states = next;
            }
            let queue: f64 = states.iter().enumerate().skip(servers).map(|(n, p)| (n - servers) as f64 * p).sum();
            let (found, want) = (mdc_wait(offered, 1.0, servers as u32), queue / offered);
            assert!((found / want - 1.0).abs() < 1e-6, "{servers} {load}: {found} for {want}");
        }
    }

    #[test]
    fn priorities_conserve_the_work_that_waits() {
        // Kleinrock's law: the sum of load times wait does not depend on the order of service.
        let classes =
            [Class::fixed(0.2, 1.0), Class { rate: 0.1, service: 2.0, service_squared: 8.0 }, Class::fixed(0.05, 5.0)];
        let weighted = |order: [usize; 3]| {
            let classes = order.map(|index| classes[index]);
            let waits = cobham_waits(&classes);
            classes.iter().zip(waits).map(|(class, wait)| class.load() * wait).sum::<f64>()
        };
        let first = weighted([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert!((weighted(order) / first - 1.0).abs() < 1e-12, "{order:?}");
        }
        assert!((cobham_waits(&classes)[0] - 0.5 * (0.2 + 0.8 + 1.25) / 0.8).abs() < 1e-12);
    }

    #[test]
    fn a_queue_that_is_full_waits_for_ever() {
        assert_eq!((md1_wait(1.0, 1.0), mdc_wait(2.0, 1.0, 2)), (f64::INFINITY, f64::INFINITY));
        let waits = cobham_waits(&[Class::fixed(0.5, 1.0), Class::fixed(0.6, 1.0)]);
        assert!(waits[0].is_finite() && waits[1].is_infinite());
    }

    #[test]
    fn closed_loops_lie_between_their_bounds() {
        // Two balanced stations with exponential service: N / (N + 1) of the ceiling.
        for customers in [1.0, 2.0, 8.0] {
            let (least, most) = closed_loop_throughput(&[1.0, 1.0], customers);
            let exact = customers / (customers + 1.0);
            assert!(least <= exact + 1e-12 && exact <= most + 1e-12, "{customers} {least} {most}");
        }
        assert_eq!(read_ceilings(16, 8, 75.0, 25.0), (0.16, 0.32));
    }

    #[test]
    fn binomials_match_plain_sums() {
        assert_eq!(binomial_moments(10, 0.5), (5.0, 2.5));
        for (trials, probability) in [(1, 0.3), (10, 0.5), (40, 0.05), (60, 0.9)] {
            let mut sum = 0.0;
            let mut term = libm::pow(1.0 - probability, f64::from(trials));
            for most in 0..=trials {
                sum += term;
                let found = binomial_cdf(trials, probability, most);
                assert!((found - sum).abs() < 1e-10, "{trials} {probability} {most}: {found} for {sum}");
                term *= f64::from(trials - most) / f64::from(most + 1) * probability / (1.0 - probability);
            }
        }
        // A page of tlc-72l-2018 at 5,000 cycles: 4,096 bits at 0.016406.
        let found = binomial_cdf(4096, 0.016_406, 75);
        assert!((found - 0.846).abs() < 5e-4, "{found}");
    }
}
