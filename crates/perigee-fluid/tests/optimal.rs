// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Optimality conditions of allocations over random networks.

use perigee_fluid::{alpha_fair, max_min, verify, Problem};
use proptest::prelude::*;

/// Capacities over six orders of magnitude, some of them zero.
fn capacity() -> impl Strategy<Value = f64> {
    prop_oneof![9 => (0.0..6.0_f64).prop_map(|e| 1e6 * pow10(e)), 1 => Just(0.0)]
}

fn pow10(e: f64) -> f64 {
    libm::pow(10.0, e)
}

fn problem(blocked: bool) -> impl Strategy<Value = Problem> {
    (1usize..12, 1usize..40).prop_flat_map(move |(resources, demands)| {
        let capacity = proptest::collection::vec(capacity(), resources);
        let uses = proptest::collection::btree_map(0..resources as u32, 0.05..1.0_f64, 1..=resources.min(5));
        let whole = any::<bool>();
        let demand = (0.1..1e4_f64, prop_oneof![Just(f64::INFINITY), 1e3..1e10_f64], uses, whole);
        (capacity, proptest::collection::vec(demand, demands)).prop_map(move |(mut capacity, demands)| {
            if !blocked {
                capacity.iter_mut().for_each(|c| *c = c.max(1e6));
            }
            let mut p = Problem::new(capacity);
            for (weight, limit, uses, whole) in demands {
                p.add_split(weight, limit, uses.into_iter().map(|(r, s)| (r, if whole { 1.0 } else { s })));
            }
            p
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn max_min_rates_fit_and_no_demand_can_have_more(p in problem(true)) {
        p.check().unwrap();
        let a = max_min(&p);
        let e = verify::max_min(&p, &a.rate, 1e-9);
        prop_assert!(e.excess <= 1e-12 && e.unfair <= 1e-9, "{e:?}");
    }

    #[test]
    fn the_check_rejects_rates_that_are_not_fair(p in problem(false), which in any::<prop::sample::Index>()) {
        let mut a = max_min(&p);
        let d = which.index(p.demands());
        prop_assume!(a.rate[d] > 1.0);
        a.rate[d] *= 0.99;
        let e = verify::max_min(&p, &a.rate, 1e-9);
        prop_assert!(e.unfair > 1e-3, "{e:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn alpha_fair_rates_fit_and_their_gap_is_small(p in problem(false), alpha in prop_oneof![Just(1.0), 0.5..4.0_f64]) {
        let found = alpha_fair(&p, alpha);
        let load = p.loads(&found.rate);
        for (l, c) in load.iter().zip(&p.capacity) {
            prop_assert!(*l <= c * (1.0 + 1e-9));
        }
        for d in 0..p.demands() {
            prop_assert!(found.rate[d] <= p.limit(d) * (1.0 + 1e-12));
        }
        prop_assert!(found.gap <= 1e-6, "gap {} after {} passes", found.gap, found.passes);
    }
}

#[test]
fn two_links_and_three_flows_have_the_rates_of_the_textbook() {
    // Massoulié and Roberts: a long flow over L links with one short flow on each gets
    // 1 / (1 + L^(1/α)) of every link.
    for links in [2u32, 3, 10] {
        for alpha in [0.5, 1.0, 2.0] {
            let mut p = Problem::new(vec![1e9; links as usize]);
            p.add(1.0, f64::INFINITY, 0..links);
            (0..links).for_each(|r| {
                p.add(1.0, f64::INFINITY, [r]);
            });
            let found = alpha_fair(&p, alpha);
            let expected = 1e9 / (1.0 + libm::pow(f64::from(links), 1.0 / alpha));
            assert!((found.rate[0] / expected - 1.0).abs() < 1e-3, "{links} {alpha} {}", found.rate[0]);
        }
    }
}

/// A number between 0 and 1 from a counter: large problems without a generator.
fn mixed(n: u64) -> f64 {
    let mut x = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[test]
fn large_problems_are_fair_and_come_out_the_same_whatever_was_computed_before() {
    let mut p = Problem::new((0..8_000).map(|r| 1e8 * (0.1 + mixed(r))).collect());
    for d in 0..60_000_u64 {
        let draw = |i: u64| mixed(1_000_000 + 16 * d + i);
        let mut path: Vec<u32> = (0..6).map(|i| (draw(i) * draw(i) * 8_000.0) as u32).collect();
        path.sort_unstable();
        path.dedup();
        p.add(1.0 + 99.0 * draw(7), if draw(8) < 0.3 { 1e7 * draw(9) } else { f64::INFINITY }, path);
    }
    let a = max_min(&p);
    let e = verify::max_min(&p, &a.rate, 1e-9);
    assert!(e.excess <= 1e-12 && e.unfair <= 1e-9, "{e:?}");
    assert_eq!(max_min(&p), a);
}
