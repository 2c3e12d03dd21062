//! Contradictions in chapters 5 and 6 of 002: what is printed, and what its own numbers give.

/// A printed figure that the paper's own numbers contradict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misprint {
    /// Its place in 002.
    pub place: &'static str,
    /// What is printed there.
    pub printed: &'static str,
    /// What the paper's other numbers give, or what is wrong.
    pub found: &'static str,
}

/// All misprints that were found, in the paper's order.
pub const MISPRINTS: [Misprint; 14] = [
    Misprint {
        place: "section 5.2.2",
        printed: "write IOPS of QLC drives are 66 to 90 % of the others'",
        found: "65.9 % (C over B) to 91.6 % (D over A) by table 5.2",
    },
    Misprint {
        place: "section 5.2.3",
        printed: "7.6 TB a drive, 184 TB and 10 % more in 2U",
        found: "twelve bays hold 91.2 TB; 24 bays 182.4 TB, 8.6 % more than 168; 184 TB are 24 drives of 7.68 TB, 9.7 % more",
    },
    Misprint {
        place: "table 5.3",
        printed: "read IOPS of eQLC: 2,441",
        found: "that is brand C, consumer QLC, in table 5.2; brand D, eQLC, has 3,338",
    },
    Misprint {
        place: "section 5.2.3",
        printed: "a RAID-6 of seven hard disks reads as one QLC drive",
        found: "by table 5.3 six do, 4 x 50 MB/s of data beside two of parity for 186; and thirteen for its read IOPS",
    },
    Misprint {
        place: "table 6.1",
        printed: "model B: QLC, 118 GB, firmware k4110440, the more expensive",
        found: "size and firmware are those of a 3D XPoint drive (Optane SSD 800P, 118 GB, K4110410), which has no QLC: \
                what B shows is probably nothing of QLC",
    },
    Misprint {
        place: "section 6.3.1.1", printed: "latency of model A grows from 25 °C to 25 °C", found: "to 35 °C"
    },
    Misprint {
        place: "table 6.6",
        printed: "throughput of random read at 35 °C: 20.40 %",
        found: "20.30 % by table 6.4",
    },
    Misprint {
        place: "table 6.6",
        printed: "latency of read random at 50 °C: 5.95 %",
        found: "6.02 % by table 6.4, and 5.96 % at the least where its values were rounded",
    },
    Misprint {
        place: "section 6.3.1.2",
        printed: "the formula of the p-value",
        found: "it is a t, not a probability; the pooled variance lacks its root, and sqrt(1/n1 + 1/n2) belongs into the denominator",
    },
    Misprint {
        place: "section 6.3.1.2",
        printed: "model B loses 15 to 28 % of its throughput at 50 °C",
        found: "18.69 to 28.49 % by table 6.7; section 6.3.1.1 says above 18 %",
    },
    Misprint {
        place: "table 6.8",
        printed: "IOPS of read random: 4.76E-02, marked ** (p at most 0.01)",
        found: "* (p at most 0.05)",
    },
    Misprint {
        place: "section 6.3.2.3",
        printed: "finding 4: throughput spreads wider at 50 °C than below",
        found: "by its own p-values so for 7 of 8 loads of model B, and for 3 of 8 of model A",
    },
    Misprint {
        place: "table 6.14",
        printed: "Pagerank, 25 against 35 °C: 9.08E-01 without a mark",
        found: "NS (p above 0.05)",
    },
    Misprint {
        place: "section 6.3.2.4",
        printed: "Pagerank of model B differs between 25 and 50 °C (3.77E-04)",
        found: "it does, and it is faster in the heat: 437.59 and 444.46 MB/s",
    },
];
