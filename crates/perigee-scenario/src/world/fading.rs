// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[bursts]` and the `weather` of nodes, applied to the network of a source.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::Source;
use crate::file::vary::Varied;
use crate::world::network::Network;
use perigee_sources::fading::{read_weather, Faded, Fading};
use perigee_timeline::{ChunkSource, LinkId};
use perigee_units::files;
use std::sync::Arc;

/// A boxed source is also a source.
struct Boxed(Box<dyn ChunkSource>);
impl ChunkSource for Boxed {
    fn next_chunk(&mut self) -> Result<Option<Arc<perigee_timeline::Chunk>>, String> {
        self.0.next_chunk()
    }
}

/// Applies bursts and weather to a network, if the scenario has any.
///
/// # Errors
/// Files without valid weather, sources and ports that cannot vary.
pub fn apply(scenario: &Scenario, mut net: Network, seed: u64) -> Result<Network, ScenarioError> {
    let weathered: Vec<_> = scenario.nodes.iter().filter_map(|n| Some((n, n.weather.as_ref()?))).collect();
    if scenario.bursts.is_none() && weathered.is_empty() {
        return Ok(net);
    }
    let seed = scenario.run.vary.seed_of(Varied::Changes, seed);
    let mut what =
        Fading { seed, bursts: scenario.bursts.as_ref().map(|b| b.process()), ..Fading::default() };
    for (node, file) in weathered {
        let key = format!("node.{}.weather", node.name);
        let wrong = |why: String| Problem::new(key.clone(), why).at(&node.place);
        let text = files::read(file).map_err(wrong)?;
        let damaged = |why: String| wrong(format!("{}: {why}", file.display()));
        what.weather.insert(node.name.clone(), read_weather(&text).map_err(damaged)?);
    }
    what.links = links(scenario, &net, !what.weather.is_empty())?;
    net.source = Box::new(Faded::new(Boxed(net.source), &net.header, what));
    Ok(net)
}

/// Links that vary: in a sky those to the ground, elsewhere the slowest link of each pair.
fn links(
    scenario: &Scenario,
    net: &Network,
    weather: bool,
) -> Result<Option<std::collections::BTreeSet<LinkId>>, ScenarioError> {
    let place = |key: &str, why: &str| {
        let p = Problem::new(key, why);
        scenario.bursts.as_ref().map_or(p.clone(), |b| p.at(b.place()))
    };
    match &scenario.source {
        Source::Constellation(c) if weather && c.ground_ports != "per-link" => {
            let p = Problem::new("source.constellation.ground_ports", "weather requires one radio per link")
                .at(c.place());
            Err(p
                .hint("set ground_ports = \"per-link\": a radio shared by all peers has a single rate")
                .into())
        }
        Source::Constellation(_) => Ok(None),
        Source::Chain(_) | Source::Dumbbell(_) | Source::ParkingLot(_) => {
            if scenario.changes.iter().any(|c| c.to.loss.is_some()) {
                return Err(
                    place("bursts", "conflicts with the random loss of [[change]] or [schedule]").into()
                );
            }
            let slowest = |l: &perigee_timeline::Link| net.bottlenecks.contains(&l.port.0);
            let all = net.header.links.iter().enumerate().filter(|(_, l)| slowest(l));
            Ok(Some(all.map(|(i, _)| LinkId(i as u32)).collect()))
        }
        _ => Err(place("bursts", "no effect: this source determines the loss of its links").into()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use perigee_timeline::Change;
    use std::path::Path;
    use std::sync::Arc;

    const SKY: &str = "[run]\nduration = \"60 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n";
    const ENDS: &str = "[node.a]\nplace = \"London\"\nWEATHER\n[node.b]\nplace = \"New York\"\n\
                        [[flow]]\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\n";

    fn losses(text: &str, seed: u64) -> Result<Vec<(f64, u32, f64)>, String> {
        let s = Scenario::parse(text, "test", Path::new(""), &[]).map_err(|e| e.to_string())?;
        let world = World::build(Arc::new(s), seed).map_err(|e| e.to_string())?;
        let t = world.whole_timeline()?;
        let loss = |c: &perigee_timeline::Timed| match c.change {
            Change::Loss(l, p) => Some((c.at.as_secs_f64(), l.0, p)),
            _ => None,
        };
        Ok(t.chunks.iter().flat_map(|c| &c.changes).filter_map(loss).collect())
    }

    #[test]
    fn bursts_come_as_often_and_last_as_long_as_they_should() {
        let text = "[run]\nduration = \"2000 s\"\n[source.chain]\n[bursts]\napart = \"1 s\"\nlength = \"100 ms\"\nloss_inside = 0.3\n[[flow]]\ncc = \"cubic\"\n";
        let all = losses(text, 1).unwrap();
        assert_eq!(all, losses(text, 1).unwrap());
        assert_ne!(all, losses(text, 2).unwrap());
        let bad: f64 = all.windows(2).filter(|w| w[0].2 > 0.0).map(|w| w[1].0 - w[0].0).sum();
        let n = all.iter().filter(|c| c.2 > 0.0).count() as f64;
        // 2000 s / 1.1 s = 1818 bursts; four standard deviations of the number are 9 %.
        assert!((n / 1818.0 - 1.0).abs() < 0.09, "{n} bursts");
        assert!((bad / n - 0.1).abs() < 0.01, "{} s long", bad / n);
        assert!(all.iter().all(|c| c.2 == 0.0 || (c.2 - 0.3).abs() < 1e-12));
    }

    #[test]
    fn ground_links_of_a_sky_vary_while_they_are_used() {
        let bursts = "[bursts]\napart = \"2 s\"\nlength = \"200 ms\"\nloss_inside = 1.0\n";
        let all = losses(&format!("{SKY}{bursts}{}", ENDS.replace("WEATHER", "")), 1).unwrap();
        assert!(all.len() > 60, "four links in use, a burst each 2.2 s: {}", all.len());
        assert!(all.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn weather_is_read_and_refused_where_it_cannot_be() {
        let folder = std::env::temp_dir().join(format!("perigee-weather-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("rain.csv");
        std::fs::write(&file, "t_s,rate_share,loss\n0,1,0\n20,0.5,0.01\n40,0,1\n").unwrap();
        let ends = ENDS.replace("WEATHER", &format!("weather = {:?}", file.display().to_string()));
        let e = losses(&format!("{SKY}{ends}"), 1).unwrap_err();
        assert!(e.contains("per-link"), "{e}");
        let sky = SKY.replace("preset", "ground_ports = \"per-link\"\npreset");
        let all = losses(&format!("{sky}{ends}"), 1).unwrap();
        assert!(all.iter().any(|c| c.0 == 20.0 && (c.2 - 0.01).abs() < 1e-12), "{all:?}");
        assert!(all.iter().any(|c| c.0 == 40.0 && c.2 == 1.0), "{all:?}");
        for (text, says) in [
            ("t_s,rate\n0,1\n", "first line"),
            ("t_s,rate_share,loss\n0,2,0\n", "line 2"),
            ("t_s,rate_share,loss\n5,1,0\n5,1,0\n", "line 3: not later"),
            ("t_s,rate_share,loss\n", "no rows"),
        ] {
            std::fs::write(&file, text).unwrap();
            let e = losses(&format!("{sky}{ends}"), 1).unwrap_err();
            assert!(e.contains(says), "{e}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
